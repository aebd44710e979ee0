"""The other linkers, each in a virtual environment of its own: they need other versions of the same libraries.

``python -m studies.linkage.environments`` builds what is missing; so does a run that needs one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from isthmus.exceptions import InputError

ROOT = Path(__file__).resolve().parents[2]
FIRST = f"isthmus[tables] @ git+file://localhost{ROOT}@2d08073"
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "splink": ("splink==5.0.0", "duckdb==1.4.4", "pandas==2.3.3", "pyarrow==22.0.0"),
    "dedupe": ("dedupe==3.0.3", "BTrees==6.4", "scikit-learn==1.7.2", "numpy==2.3.5"),
    "recordlinkage": ("recordlinkage==0.16", "pandas==2.3.3", "scikit-learn==1.5.2", "numpy==1.26.4"),
    "isthmus-0.1": (FIRST, "numpy==2.4.6", "scipy==1.17.1", "scikit-learn==1.9.1"),
}
"""What is installed for each linker; dedupe 3.0.3 fails with BTrees 6.5 (dedupeio/dedupe, issue 1230)."""


def ensure_environment(name: str) -> Path:
    """Return the interpreter of a linker's environment, after building it where it is missing."""
    folder = ROOT / f".venv-{name}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # The marker is written last: an environment without it, or with other versions, was not finished.
    marker, wanted = folder / "requirements.txt", "\n".join(REQUIREMENTS[name])
    if not marker.exists() or marker.read_text(encoding="utf-8") != wanted:
        _run([sys.executable, "-m", "venv", "--clear", str(folder)], name)
        _run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS[name]], name)
        marker.write_text(wanted, encoding="utf-8")
    return python


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise InputError(f".venv-{name}: expected to be built, got: {last}")


if __name__ == "__main__":
    for name in REQUIREMENTS:
        ensure_environment(name)
