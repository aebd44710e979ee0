"""The steps of a migration, told to somebody."""

from __future__ import annotations

from collections.abc import Callable

from isthmus._progress import ProgressLine


class Steps:
    """Called when a step begins, with what it is and how many fits of one fold it is worth.

    Examples
    --------
    >>> said = []
    >>> steps = Steps(said.append)
    >>> steps.expect(4)
    >>> steps("trying ridge")
    >>> steps("controls", 3)
    >>> said, steps.part
    (['trying ridge', 'controls'], 0.25)
    """

    def __init__(self, told: Callable[[str], None] | ProgressLine) -> None:
        self._told = told
        self._before = self._now = self._all = 0

    def expect(self, steps: int) -> None:
        """So many steps there are in all."""
        self._all = steps

    @property
    def part(self) -> float:
        """The part of all steps that is done."""
        return self._before / self._all if self._all else 0.0

    def __call__(self, what: str, worth: int = 1) -> None:
        """A step begins."""
        self._before, self._now = self._before + self._now, worth
        if isinstance(self._told, ProgressLine):
            self._told.tell(what, self.part)
        else:
            self._told(what)
