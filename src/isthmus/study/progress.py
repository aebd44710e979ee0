"""How many trials of a run are done, as a bar on one line of the terminal, with the time that is left."""

from __future__ import annotations

from isthmus._progress import ProgressLine, duration

WIDTH = 24
SECONDS_BETWEEN_LINES = 30.0
"""How often a log gets a new line: runs take hours."""


class Progress(ProgressLine):
    """A callback (done, all)."""

    def __init__(self, name: str) -> None:
        super().__init__(name, SECONDS_BETWEEN_LINES)

    def __call__(self, done: int, total: int) -> None:
        """Show how many of the trials are done."""
        if done == 0:
            self.restart()
        seconds = self.seconds
        self.show(self.line(done, total, seconds), seconds, always=done in (0, total))

    def line(self, done: int, total: int, seconds: float) -> str:
        """What is shown.

        Examples
        --------
        >>> Progress("table1").line(50, 200, 60.0)
        'table1 [######..................]  50 of 200 trials, 1 min 0 s, 3 min 0 s left'
        """
        if total == 0:
            return f"{self.name}: all trials were there already"
        bar = "#" * (WIDTH * done // total)
        count = f"{self.name} [{bar:.<{WIDTH}}] {done:>{len(str(total))}} of {total} trials"
        if done in (0, total):
            return f"{count}, {duration(seconds)}" if done else count
        return f"{count}, {duration(seconds)}, {duration(seconds / done * (total - done))} left"
