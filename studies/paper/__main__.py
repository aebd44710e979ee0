"""``python -m studies.paper``: run the paper's experiments, or render records that are there."""

import sys

from studies.paper.command import main

sys.exit(main())
