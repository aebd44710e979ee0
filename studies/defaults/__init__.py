"""How the library's defaults were chosen, as a specification on :mod:`isthmus.study`: docs/bounds.md has the answer.

``python -m studies.defaults --help``.
"""

from studies.defaults.rules import Rule, RuledMLHD
from studies.defaults.specification import study
from studies.defaults.tables import TABLES

__all__ = ["TABLES", "Rule", "RuledMLHD", "study"]
