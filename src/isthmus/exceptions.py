"""Errors and warnings, as a tree.

::

    IsthmusError
    ├── InputError             (ValueError)    bad data or a bad parameter, in one sentence
    ├── NotConvergedError      (RuntimeError)  ``raise_for_status`` on a result that is not optimal
    └── MissingDependencyError (ImportError)   an extra is needed, with the command that installs it
    ConvergenceWarning         (UserWarning)   a solver stopped early; the gap is in the message
    DataWarning                (UserWarning)   the data are of a kind that the method does badly on

Catch :class:`IsthmusError` for everything that isthmus raises on purpose. Each error is also the built-in one in
parentheses, so that ``except ValueError`` works as it does with NumPy and scikit-learn.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

__all__ = [
    "ConvergenceWarning",
    "DataWarning",
    "InputError",
    "IsthmusError",
    "MissingDependencyError",
    "NotConvergedError",
]


class IsthmusError(Exception):
    """Base class of all errors that isthmus raises on purpose."""


class InputError(IsthmusError, ValueError):
    """Bad data or a bad parameter.

    The message is one sentence: the parameter or file, what was expected, what was given, and, where there is one,
    the remedy.

    Examples
    --------
    >>> from isthmus import MLHD
    >>> MLHD(max_iter=0).fit([[0.0], [1.0]], [0, 1], [[0.0]], [0])
    Traceback (most recent call last):
    isthmus.exceptions.InputError: max_iter: expected a whole number of at least 1, got 0.
    """


class NotConvergedError(IsthmusError, RuntimeError):
    """A result that is required to be optimal is not; the message names its status and its gap."""


class MissingDependencyError(IsthmusError, ImportError):
    """An optional dependency is not installed; the message has the command that installs it."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before the duality gap reached its tolerance; the result says how far it got."""


class DataWarning(UserWarning):
    """The data can be learned from, but the method does badly on their kind; the message names the remedy."""


def import_extra(module: str, extra: str, need: str) -> Any:
    """Return a module of an optional package; raise a sentence on how to install it where it is missing.

    Examples
    --------
    >>> import_extra("no_such_package.part", "tables", "Tables need")
    Traceback (most recent call last):
    isthmus.exceptions.MissingDependencyError: Tables need no_such_package, which is not installed: pip install ...
    """
    try:
        __import__(module)
        return sys.modules[module]
    except ImportError:
        package = module.partition(".")[0]
        message = f'{need} {package}, which is not installed: pip install "isthmus[{extra}]".'
        raise MissingDependencyError(message) from None


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Warn at the first line outside this package, which is the line that the caller can change."""
    package = __name__.partition(".")[0]
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
