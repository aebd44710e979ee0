"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4


def write_text(path: Path, text: str) -> None:
    """Give a file this text in UTF-8; its folder is made where it is missing."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Give a file this content: written under another name in the same folder, then renamed.

    A reader sees the old file or the new one, never a part; where writing fails, the old one stays.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(Path(folder) / "new" / "file.txt", b"whole")
    ...     (Path(folder) / "new" / "file.txt").read_text()
    'whole'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
