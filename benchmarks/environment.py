"""metric-learn 0.7.0 in a virtual environment of its own: it needs an older scikit-learn than isthmus has.

``python -m benchmarks.environment`` builds it; so does a benchmark that finds none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / ".venv-metric-learn"
PYTHON = ROOT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn<1.8")


class EnvironmentBuildError(RuntimeError):
    """The environment could not be built."""


def ensure() -> Path:
    """The environment's interpreter, after building what is missing."""
    if not _works():
        print(f"building {ROOT.name} with {', '.join(REQUIREMENTS)}", file=sys.stderr)
        _run([sys.executable, "-m", "venv", "--clear", str(ROOT)])
        _run([str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS])
    return PYTHON


def description() -> str:
    """The versions in it."""
    if not PYTHON.exists():
        return "not built"
    names = ("metric-learn", "scikit-learn", "scipy", "numpy")
    script = f"from importlib.metadata import version; print(*map(version, {names}))"
    done = subprocess.run([str(PYTHON), "-I", "-c", script], capture_output=True, text=True, check=False)
    if done.returncode:
        return "missing"
    return " · ".join(map(" ".join, zip(names, done.stdout.split(), strict=True)))


def _works() -> bool:
    if not PYTHON.exists():
        return False
    check = subprocess.run([str(PYTHON), "-I", "-c", "import metric_learn"], capture_output=True, check=False)
    return check.returncode == 0


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise EnvironmentBuildError(f"{ROOT.name}: expected to be built, got: {last}")


if __name__ == "__main__":
    try:
        ensure()
    except EnvironmentBuildError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Interrupted; run again to finish the environment.")
