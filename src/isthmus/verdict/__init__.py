"""Whether a source helps, on rows of one's own.

:func:`does_source_help` hides labels, runs a system with the true source and with spoilt ones beside rules that
never see it, and gives a :class:`Verdict`: yes, no or can't tell, with the numbers.
"""

from isthmus.verdict.asking import does_source_help
from isthmus.verdict.verdict import Verdict

__all__ = ["Verdict", "does_source_help"]
