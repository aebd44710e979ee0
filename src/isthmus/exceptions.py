"""What can go wrong, as a tree.

::

    IsthmusError
    ├── InputError             (ValueError)    bad data or a bad parameter, in one sentence
    ├── NotConvergedError      (RuntimeError)  ``raise_for_status`` on a result that is not optimal
    └── MissingDependencyError (ImportError)   an extra is needed, with the command that installs it
    ConvergenceWarning         (UserWarning)   a solver stopped early; the gap is in the message
    DataWarning                (UserWarning)   the data are of a kind that the method does badly on
"""

from __future__ import annotations

import sys
import warnings

__all__ = [
    "ConvergenceWarning",
    "DataWarning",
    "InputError",
    "IsthmusError",
    "MissingDependencyError",
    "NotConvergedError",
]


class IsthmusError(Exception):
    """The root of every error that isthmus raises on purpose."""


class InputError(IsthmusError, ValueError):
    """Bad data or a bad parameter: names it, says what was expected and what was got."""


class NotConvergedError(IsthmusError, RuntimeError):
    """A result was required to be optimal and is not."""


class MissingDependencyError(IsthmusError, ImportError):
    """An optional dependency is needed and not installed."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before the gap reached its tolerance."""


class DataWarning(UserWarning):
    """The data can be learned from, but are of a kind that the method does badly on."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside this package: who called it can do something about it."""
    package = __name__.partition(".")[0]
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
