"""Few labels, as a specification on :mod:`isthmus.study`: classes to be named, the paper's size, real sizes.

``python -m studies.labels --help``.
"""

from studies.labels.parts import STUDIES

__all__ = ["STUDIES"]
