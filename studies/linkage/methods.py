"""The linkers of the study, each run as a process of its own on a task."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from isthmus.study.records import VERSIONS
from studies.linkage.environments import FIRST, REQUIREMENTS, ROOT, ensure_environment
from studies.linkage.tasks import KNOWN, Task

TIME_LIMIT = 600
"""Seconds of processor time that a linker may take on a task."""
PATIENCE = 10
"""How many times as long it may take by the clock."""


@dataclass(frozen=True)
class Method:
    """A linker.

    Parameters
    ----------
    runner : str
        The module of :mod:`studies.linkage.runners`.
    arguments : tuple of str
        Further words for it.
    environment : str or None
        The virtual environment that it needs; None: the one of the study.
    known : tuple of int
        The numbers of known pairs that it is run with.
    oracle : bool
        Whether its threshold is chosen by the truth: a bound on what the method can reach, not a result of it.
    tables, arrays : bool
        Whether it takes tables of text, and arrays with shared columns.
    together : bool
        Whether one process answers for all numbers of known pairs.
    """

    runner: str
    arguments: tuple[str, ...] = ()
    environment: str | None = None
    known: tuple[int, ...] = KNOWN
    oracle: bool = False
    tables: bool = True
    arrays: bool = False
    together: bool = False

    @property
    def versions(self) -> str:
        """The software."""
        if self.environment is None:
            return VERSIONS
        return ", ".join(REQUIREMENTS[self.environment]).replace(FIRST, "isthmus 0.1 (2d08073)").replace("==", " ")

    def takes(self, task: Task) -> bool:
        """Return whether the method can be run on a task."""
        return self.tables if task.shared is None else self.arrays


def _baseline(kind: str) -> Method:
    arrays = kind == "distances"
    return Method("tfidf", (kind,), oracle=True, tables=not arrays, arrays=arrays, together=True)


METHODS = {
    "tfidf-words": _baseline("words"),
    "tfidf-chars": _baseline("chars"),
    "columns": _baseline("distances"),
    "isthmus": Method("isthmus", arrays=True),
    "isthmus-0.1": Method("isthmus_first", environment="isthmus-0.1", arrays=True),
    "splink": Method("splink", environment="splink", known=(0,)),
    "dedupe": Method("dedupe", environment="dedupe", known=(10, 30, 100)),
    "recordlinkage": Method("recordlinkage", environment="recordlinkage", known=(0,)),
}
BASELINES = tuple(name for name, method in METHODS.items() if method.oracle)


@dataclass(frozen=True, eq=False)
class Answer:
    """The pairs of a linker with their scores, its processor time in seconds and the peak memory in bytes."""

    pairs: np.ndarray[Any, np.dtype[np.int64]]
    scores: np.ndarray[Any, np.dtype[np.float64]]
    seconds: float
    memory: float
    ok: float | None = None
    sentence: str = ""


class LinkerError(RuntimeError):
    """A linker failed, or took too long."""


def run_method(method: Method, task: Task, known: Sequence[int], limit: int = TIME_LIMIT) -> list[Answer]:
    """Run a linker on a task, once for each number of known pairs; raise LinkerError where it fails."""
    python = Path(sys.executable) if method.environment is None else ensure_environment(method.environment)
    with TemporaryDirectory() as folder:
        write_task(task, known, Path(folder), limit)
        command = [str(python), "-m", f"studies.linkage.runners.{method.runner}", folder, *method.arguments]
        # Linkers of other environments must not see the libraries of this one.
        paths = [str(ROOT)] if method.environment else [str(ROOT / "src"), str(ROOT)]
        variables = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=variables,
                capture_output=True,
                text=True,
                timeout=PATIENCE * limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise LinkerError(f"not finished after {PATIENCE * limit} s by the clock") from None
        if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
            raise LinkerError(f"killed: more than {limit} s of processor time, or too much memory")
        if done.returncode:
            raise LinkerError(find_reason(done.stderr) or f"exit status {done.returncode}")
        return _read_answers(Path(folder) / "answers.json")


def find_reason(stderr: str) -> str:
    r"""Return the last line of a traceback that names an error, else the last line.

    Examples
    --------
    >>> find_reason("Traceback:\nParser Error: syntax error\nLINE 98: cast(\n     ^")
    'Parser Error: syntax error'
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line or "Exception" in line]
    return (named or lines or [""])[-1][:200]


def write_task(task: Task, known: Sequence[int], folder: Path, limit: int | None = None) -> None:
    """Write the files of a task, as :mod:`studies.linkage.runners.exchange` describes them."""
    if task.shared is None:
        task.A.to_csv(folder / "a.csv", index=False)
        task.B.to_csv(folder / "b.csv", index=False)
    else:
        np.savez(folder / "arrays.npz", A=task.A, B=task.B, S=task.shared[0], T=task.shared[1])
    pairs = [task.known_pairs(n).tolist() for n in known]
    values = {
        "columns": task.columns,
        "one_to_one": task.one_to_one,
        "seed": task.seed,
        "known": pairs,
        "limit": limit,
    }
    (folder / "task.json").write_text(json.dumps(values), encoding="utf-8")


def _read_answers(path: Path) -> list[Answer]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return [
        Answer(
            np.array(each["pairs"], dtype=np.int64).reshape(-1, 2),
            np.array(each["scores"], dtype=np.float64),
            each["seconds"],
            found["memory"],
            each.get("ok"),
            each.get("sentence", ""),
        )
        for each in found["answers"]
    ]
