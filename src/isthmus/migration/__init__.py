"""A new model's rows in an old model's index: an adapter between two feature spaces, learned from known pairs.

:func:`migrate` learns an :class:`Adapter` and measures on pairs that were held out how well it does.
"""

from isthmus.migration.adapter import Adapter
from isthmus.migration.advice import Advice
from isthmus.migration.migrate import migrate
from isthmus.migration.recall import Figures, Recall, Share

__all__ = ["Adapter", "Advice", "Figures", "Recall", "Share", "migrate"]
