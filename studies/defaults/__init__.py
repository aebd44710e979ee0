"""How the library's defaults were chosen, as specifications on :mod:`isthmus.study`.

docs/defaults.md and docs/bounds.md have the answers. ``python -m studies.defaults --help``.
"""

from studies.defaults.rules import Rule, RuledMLHD
from studies.defaults.specification import study
from studies.defaults.tables import TABLES

__all__ = ["TABLES", "Rule", "RuledMLHD", "study"]
