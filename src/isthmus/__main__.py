"""``python -m isthmus`` is the command line."""

import sys

from isthmus.cli import main

sys.exit(main())
