"""``python -m isthmus`` is the command line."""

import sys

from isthmus.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
