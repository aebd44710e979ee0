"""Known pairs of rows, as a specification on :mod:`isthmus.study`: search, label transfer, matching, migration.

``python -m studies.pairs --help``.
"""

from studies.pairs.page import STUDIES, page, write_figures

__all__ = ["STUDIES", "page", "write_figures"]
