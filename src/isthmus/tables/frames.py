"""polars, asked for only when a table needs it, and its complaints in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from isthmus.exceptions import InputError, IsthmusError, MissingDependencyError
from isthmus.storage.files import shown


def polars() -> Any:
    """The module of that name."""
    try:
        import polars
    except ImportError:
        message = 'Tables need polars, which is not installed: pip install "isthmus[tables]".'
        raise MissingDependencyError(message) from None
    return polars


@contextmanager
def complaints(name: str, expected: str) -> Iterator[None]:
    """Whatever the reader of a format raises inside, as one sentence about the file.

    Examples
    --------
    >>> with complaints("a.csv", "a table"):
    ...     raise KeyError("line 3")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: a.csv: expected a table, got: line 3.
    """
    try:
        yield
    except (IsthmusError, MemoryError, OSError):
        raise
    except BaseException as error:  # a panic of polars is no Exception
        panic = type(error).__name__ == "PanicException"
        if not isinstance(error, Exception) and not panic:
            raise
        if panic:  # its words are about the reader, not about the file
            raise InputError(f"{name}: expected {expected}, got another.") from None
        lines = str(error.args[0] if error.args else "").strip().splitlines()
        reason = shown(lines[0][:120]) if lines else type(error).__name__
        raise InputError(f"{name}: expected {expected}, got: {reason.rstrip('.')}.") from None
