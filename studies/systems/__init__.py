"""Every system and control on four real pairs, as a specification on :mod:`isthmus.study`.

``python -m studies.systems --help``.
"""

from studies.systems.old_records import old_records
from studies.systems.page import page
from studies.systems.specification import study

__all__ = ["old_records", "page", "study"]
