"""Decisions of a person about pairs, or about classes of rows: lines of a CSV file that is only appended to."""

from __future__ import annotations

import csv
import os
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

from isthmus._core.files import open_regular, show_path
from isthmus.exceptions import InputError

try:
    import fcntl
except ImportError:  # Windows, where the file is not locked
    fcntl = None  # type: ignore[assignment]

HEAD = ("source", "target", "verdict", "time")
# Right, wrong, unsure, and the last answer about this pair taken back.
YES, NO, UNSURE, UNDO = VERDICTS = ("y", "n", "?", "undo")
# Characters of a time.
TIME = len("2026-01-31T12:00:00+00:00")
# Bytes of a file that are read at most.
LARGEST = 2**28
Pair = tuple[str, str]


def read_decisions(path: Path) -> dict[Pair, str]:
    """Return the last verdict, "y", "n" or "?", on each pair of ids; a line that was cut off is left out."""
    with open_regular(path) as file:
        return dict(_parse(file.read(LARGEST), path)[0])


def _parse(content: bytes, path: Path) -> tuple[dict[Pair, str], int]:
    """Return the decisions, in the order of their lines, and the number of bytes of whole lines."""
    whole = content.rfind(b"\n") + 1
    last = content[whole:].decode("utf-8", "replace")
    rows = list(csv.reader(StringIO(content[:whole].decode("utf-8", "replace"), newline="")))
    # The end of a file that a person wrote may lack its line end; half an answer has no time.
    cells = next(csv.reader([last]), [])
    if len(cells) == len(HEAD) and len(cells[-1]) == TIME:
        rows, whole = [*rows, cells], len(content)
    if rows and tuple(rows[0]) != HEAD:
        got = show_path(",".join(rows[0])[:80])
        raise InputError(f"{show_path(path)}: expected the columns {', '.join(HEAD)} of decisions, got {got}.")
    found: dict[Pair, str] = {}
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(HEAD) or row[2] not in VERDICTS:
            got = show_path(",".join(row)[:80])
            raise InputError(
                f"{show_path(path)} line {number}: expected source,target,verdict,time with a verdict of "
                f"{', '.join(VERDICTS)}, got {got}."
            )
        found.pop((row[0], row[1]), None)
        if row[2] != UNDO:
            found[row[0], row[1]] = row[2]
    return found, whole


class DecisionLog:
    """The decisions in a file that this process alone appends to.

    Each answer is one line, written by one call and synchronised before it counts: a crash loses at most the answer
    that is being given. :meth:`undo` appends a line too.
    """

    verdicts: dict[Pair, str]

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            self._lock()
            with open_regular(path) as file:
                content = file.read(LARGEST)
            self.verdicts, whole = _parse(content, path)
            if whole < len(content):
                os.ftruncate(self._file, whole)
            elif content and not content.endswith(b"\n"):
                self._write("\n")
            if not whole:
                self._write(",".join(HEAD) + "\n")
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                got = "another `isthmus review` is writing to it; close it first, or name another file by --decisions"
                raise InputError(f"{show_path(self.path)}: {got}.") from None

    def append(self, pair: Pair, verdict: str) -> None:
        """Write a decision, then count it."""
        line = StringIO()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        csv.writer(line, lineterminator="\n").writerow((*pair, verdict, now))
        self._write(line.getvalue())
        self.verdicts.pop(pair, None)
        if verdict != UNDO:
            self.verdicts[pair] = verdict

    def undo(self) -> Pair | None:
        """Take the last decision back, and return its pair; None where there is none."""
        pair = next(reversed(self.verdicts), None)
        if pair is not None:
            self.append(pair, UNDO)
        return pair

    def _write(self, text: str) -> None:
        os.write(self._file, text.encode("utf-8", "replace"))
        os.fsync(self._file)

    def close(self) -> None:
        """Release the file."""
        os.close(self._file)

    def __len__(self) -> int:
        return len(self.verdicts)
