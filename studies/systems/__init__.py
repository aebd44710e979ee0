"""Every system and every control on real pairs of domains: who gains from the source, and who beats the target alone.

The design, written down before the runs of seeds 0 to 9 (development: seeds from 100 on):

**Labels in both domains** (:mod:`studies.systems.by_labels`). Six pairs of domains: digits fou76→kar64, Debian en→fr,
SNARE-seq RNA→ATAC, Reuters EN→FR, Office webcam→amazon (SURF words to GoogLeNet), and Office caltech→amazon with the
same SURF words on both sides. 20 labelled source rows, 1 labelled and 20 unlabelled target rows per class, at most
300 test rows; no object in two of these. Entrants are taken from :func:`isthmus.systems`, with its defaults, so that
new systems enter by themselves: every system that can do without pairs, with the true source and with noise, permuted
and renamed sources; target-only rules. What a system needs (equal features, the rows to be named) is read off the
registry; where it can't take part, the page says why.

**Known pairs** (:mod:`studies.systems.by_pairs`). The four pairs of these whose objects have both descriptions, and
digits pixels→shapes and Debian de→en. 100 pairs of objects that are in none of source, target and test, true and
shuffled; no target label unless a system can't do without; rows are called by a linear machine of the mapped source,
or by the system's own rule; beside them ridge, a rule that needs no map, and target-only rules with their labels.

**Asked of the records.** Does a system gain from the source (true less noise; and less permuted, less renamed)? Does
it beat the best target-only rule? Of the pairs: does it learn from them (true less shuffled), and is that above the
target alone, above no map, above ridge? All over trials, adjusted for the number of systems (Holm).

``python -m studies.systems --help``.
"""

from collections.abc import Callable
from pathlib import Path

from isthmus.study.study import Study
from studies.systems import by_labels, by_pairs
from studies.systems.page import page

STUDIES: dict[str, Callable[[Path | None], Study]] = {by_labels.NAME: by_labels.study, by_pairs.NAME: by_pairs.study}
"""The parts, in the order of the page."""

__all__ = ["STUDIES", "page"]
