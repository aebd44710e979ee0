"""What can go wrong, as a tree.

::

    IsthmusError
    ├── InputError             (ValueError)    bad data or a bad parameter, in one sentence
    ├── NotConvergedError      (RuntimeError)  ``raise_for_status`` on a result that is not optimal
    └── MissingDependencyError (ImportError)   an extra is needed, with the command that installs it
    ConvergenceWarning         (UserWarning)   a solver stopped early; the gap is in the message
"""

from __future__ import annotations

__all__ = [
    "ConvergenceWarning",
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
