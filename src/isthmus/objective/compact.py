"""Values that are small where they are kept: the matrices that they computed on the way are left behind."""

from __future__ import annotations

from copy import copy
from dataclasses import fields
from typing import Any, Self


class Compact:
    """A dataclass whose copies and pickles carry its fields and cached numbers, no cached arrays."""

    def compact(self) -> Self:
        """The same value, without the arrays that can be computed again."""
        return copy(self)

    def __getstate__(self) -> dict[str, Any]:
        names = {field.name for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in vars(self).items() if name in names or isinstance(value, float)}
