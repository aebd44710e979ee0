"""``python -m studies.datasets [--data FOLDER]``: every data set, and which files are there."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from isthmus.exceptions import InputError
from studies.datasets.catalogue import listing


def main(arguments: list[str] | None = None) -> int:
    """Print the list; the exit status is 0, or 2 for bad input."""
    parser = argparse.ArgumentParser("python -m studies.datasets", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="where the files are (else $ISTHMUS_DATA, else a cache)"
    )
    try:
        print(listing(parser.parse_args(arguments).data))
    except InputError as error:
        print(f"studies.datasets: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
