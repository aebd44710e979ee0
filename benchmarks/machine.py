"""Where the figures come from: versions and processor, nothing that names a host or a path."""

from __future__ import annotations

import math
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import environment
from benchmarks.threads import most_threads


def description() -> dict[str, str]:
    """What has to be known to compare these figures with others."""
    import isthmus

    packages = " · ".join(f"{name} {_version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    return {
        "software": f"isthmus {isthmus.__version__} · Python {platform.python_version()} · {packages}",
        "in its own environment": environment.description(),
        "processor": f"{_processor()}, {os.cpu_count()} logical cores, {platform.machine()}",
        "threads": f"{most_threads()} (BLAS, OpenMP and numba pinned)",
    }


def load() -> float:
    """The one-minute load average now; this benchmark alone accounts for 1. NaN where there is none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan


def load_description(before: float, after: float) -> str:
    """Both loads, and a warning where other programs competed for caches and memory."""
    busy = max(before, after - 1.0) > 0.5 * (os.cpu_count() or 1)
    warning = "; a busy machine: times are inflated, and not all alike, so measure again before quoting them"
    return f"{before:.1f} before, {after:.1f} after{warning if busy else ''}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"
