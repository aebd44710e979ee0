"""The page of all systems: every number and every sentence on it comes from the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from isthmus.evidence.comparison import format_points
from isthmus.study.board import HOLDS, REVERSED
from isthmus.study.records import Record
from studies.systems import by_labels, by_pairs
from studies.systems.by_labels import SPOILT, spoilt
from studies.systems.by_pairs import shuffled_name
from studies.systems.findings import Comparison, Findings
from studies.systems.notes import absent, endings, remarks
from studies.systems.preparation import COMPONENTS_PER_CLASS, SVD_SIZE
from studies.systems.reading import RIDGE, join_differences, join_names, labels_reading, pairs_reading
from studies.systems.rows import N_PAIRS
from studies.systems.tables import difference_table, score_table, several_table
from studies.views import MOST_TESTED, SOURCE_PER_CLASS, UNLABELLED_PER_CLASS

TARGET_ONLY = tuple(entrant.name for entrant in by_labels.TARGET_ONLY)
NO_MAP = tuple(entrant.name for entrant in by_pairs.CONTROLS)


def page(records: Iterable[Record]) -> str:
    """The page in Markdown."""
    every = list(records)
    labels = Findings.of(by_labels.study(), every, TARGET_ONLY)
    pairs = Findings.of(by_pairs.study(), every, TARGET_ONLY)
    seeds = sorted({record.seed for record in every})
    sections = [labels_section(labels)] if labels.board.seeds else []
    sections += [pairs_section(pairs)] if pairs.board.seeds else []
    text = "\n\n".join(sections)
    return f"""\
# All systems and controls on real pairs of domains

{summarize_findings(labels, pairs)}\
Made by `python -m studies.systems` from the records in `studies/systems/records`, seeds {seeds[0]} to {seeds[-1]}. \
{"; ".join(dict.fromkeys(record.versions for record in every))}. The systems are those of `isthmus.systems()` with \
their defaults; new ones take part by themselves.

{PROTOCOL}

{text}

## Who has no part, and why

{absent()}

## How the runs ended

{endings(every, (labels, pairs))}
"""


SUMMARY = """\
## Summary

**Question.** Many systems learn from two domains with different features. Which of them classifies target rows \
best, does it use the source at all, and is it better than a rule that never sees the source?

**Answer.** With one labelled target row per class, {above_bar} of {systems} systems {is_are} significantly above \
the best target-only rule over all pairs of domains{winners}; {below} are below it. {gain} are better with the true \
source than with noise in its place, but {misled} of these are still below the best target-only rule. With {known} \
known pairs and no target label, {above_pairs} of {by_pairs} are above the best target-only rule; of those that ran \
on all data, {best} gains most ({best_points} points). But a rule without any map is better than {below_no_map} of \
the {by_pairs}: the source's classifier labels the paired rows, and a target-only rule learns from these labels.

**Limits.** One setting for all data, small samples ({source} source rows per class), six pairs of domains. Systems \
for equal features or for ordered classes are tested outside their purpose here. A system that is poor at \
classifying may be good at search: that is [another question](../../docs/pairs.md).

**What to do.** Compute a target-only rule that uses the unlabelled rows before anything else (`SelfTrainedLDA`). \
With labels in both domains take `LabelTransfer`. With known pairs try copied labels first, then `mlhd-rbf` or \
`kcca+nn`. In a study of your own, include a source of noise and a target-only rule.

"""

PROTOCOL = f"""\
Fixed before these runs, on development seeds from 100 on; one setting for all data, and nothing chosen by the result.

- {SOURCE_PER_CLASS} labelled source rows per class; 1 labelled and {UNLABELLED_PER_CLASS} unlabelled target rows \
per class; at most {MOST_TESTED} test rows of the target domain. No object (image, package, cell, document) is in \
two of source, target and test. Times are of the fit, \
the median over trials, on one thread.
- Numbers are standardised; rows of text are scaled to length one and reduced to {SVD_SIZE} dimensions by a \
truncated SVD; of visual words and activations the square roots are scaled to length one. Then both domains are \
reduced to the same number of principal components, {COMPONENTS_PER_CLASS} per class or as many as the smaller \
domain has features. All of it is learned from the training rows of either domain, or of both together where they \
have the same features. Those who choose among the principal axes themselves ({", ".join(by_labels.OWN_AXES)} and \
the last three target-only rules) get all features in rows of unit length: text as it is, numbers after z-scores, \
counts after their roots, as in [few labels](../../docs/labels.md).
- *Office webcam→amazon* goes from SURF words to activations of GoogLeNet; *Office caltech→amazon* has the same \
800 SURF words on both sides, the only pair where systems for equal features are at home.
- Spoilt sources: *noise* has random features of the same mean and covariance under true labels, *permuted* has true \
rows under permuted labels, *renamed* has each class under the name of another. What a system gains with one of \
these, it did not gain from the source. Where features have nothing to do with each other, a map from classes to \
classes does not mind other names: what is above *renamed* comes from the likeness of the two geometries.
- The bar is the best target-only rule: for each pair of domains, the control with the largest mean test accuracy \
among {len(TARGET_ONLY)}, which makes it higher than any of them.
- Over all pairs, each trial (a pair of domains and a split) is a unit: 95 % intervals by Student's t, p-values by \
flipping signs, adjusted for all systems of a column (Holm); **bold** there means that the sign is shown. Splits of \
a pair share objects: this is about these data. The *interval over pairs* has the mean of each pair of domains as a \
unit, and is about other data of such kinds; it is wide, as there are few. In the columns of single pairs, bold \
means only that the interval of that cell alone leaves out zero: one in twenty does so by luck."""


def summarize_findings(labels: Findings, pairs: Findings) -> str:
    """The summary for practitioners; empty where a part has no records."""
    if not labels.board.seeds or not pairs.board.seeds:
        return ""
    against = labels.compare(by_labels.names(), labels.bar)
    noise = source_comparison(labels, by_labels.names(), "noise")
    names = tuple(system.name for system in by_pairs.taking_part())
    against_pairs, no_map = pairs.compare(names, pairs.bar), pairs.compare(names, pairs.best_of(NO_MAP))
    above, below, gain = against.with_verdict(HOLDS), against.with_verdict(REVERSED), noise.with_verdict(HOLDS)
    complete = {
        name: claim.difference.mean
        for name, claim in against_pairs.claims.items()
        if claim.difference is not None and np.isfinite(pairs.scores(name)).all()
    }
    best = max(complete, key=lambda name: complete[name], default="none")
    return SUMMARY.format(
        above_bar=len(above),
        is_are="is" if len(above) == 1 else "are",
        winners=f": {join_differences(against, above)}" if above else "",
        systems=len(against.claims),
        below=len(below),
        gain=len(gain),
        misled=sum(name in below for name in gain),
        known=N_PAIRS,
        above_pairs=len(against_pairs.with_verdict(HOLDS)),
        by_pairs=len(against_pairs.claims),
        best=best,
        best_points=format_points(complete.get(best, float("nan"))),
        below_no_map=len(no_map.with_verdict(REVERSED)),
        source=SOURCE_PER_CLASS,
    )


def labels_section(found: Findings) -> str:
    """The tables where labels tie the domains, and what they say."""
    names = by_labels.names()
    by_source = {kind: source_comparison(found, names, kind) for kind in SPOILT}
    against = found.compare(names, found.bar)
    blocks = [
        "## Labels in both domains",
        score_table(
            found, (*by_labels.names(every=True), *TARGET_ONLY), "Test accuracy in per cent, true source"
        ).markdown,
        difference_table(by_source["noise"], found.groups, "What the source is worth: true less noise").markdown,
        several_table(
            {f"true less {kind}": each for kind, each in by_source.items()},
            "True less spoilt sources, all pairs: points [95 %], p (Holm)",
        ).markdown,
        difference_table(against, found.groups, "Less the best target-only rule, in points").markdown,
        "### What the numbers say",
        "\n".join(labels_reading(found, by_source, against)),
        remarks(),
    ]
    return "\n\n".join(blocks)


def source_comparison(found: Findings, names: Sequence[str], kind: str) -> Comparison:
    """Systems with their true source against the same with a spoilt one."""
    return found.compare(names, {name: found.scores(spoilt(name, kind)) for name in names})


def pairs_section(found: Findings) -> str:
    """The tables where known pairs tie the domains, and what they say."""
    names = tuple(system.name for system in by_pairs.taking_part())
    wrong = found.compare(names, {name: found.scores(shuffled_name(name)) for name in names})
    against, no_map = found.compare(names, found.bar), found.compare(names, found.best_of(NO_MAP))
    beside = found.compare([name for name in names if name != RIDGE], found.scores(RIDGE))
    columns = {"true less shuffled pairs": wrong, "less the best target-only rule": against}
    columns |= {"less the best without a map": no_map, f"less {RIDGE}": beside}
    blocks = [
        f"## {N_PAIRS} known pairs",
        pairs_protocol(),
        score_table(found, (*names, *NO_MAP, *TARGET_ONLY), "Test accuracy in per cent, true pairs").markdown,
        score_table(found, [shuffled_name(name) for name in names], "The same with shuffled pairs").markdown,
        difference_table(against, found.groups, "Less the best target-only rule, in points").markdown,
        several_table(columns, "Differences over all pairs of domains: points [95 %], p (Holm)").markdown,
        "### What the numbers say",
        "\n".join(pairs_reading(wrong, against, no_map, beside)),
    ]
    return "\n\n".join(blocks)


def pairs_protocol() -> str:
    """What is different where pairs are known."""
    kept = [system.name for system in by_pairs.taking_part() if by_pairs.wants_labels(system)]
    return f"""\
The same rows, and {N_PAIRS} known pairs of further objects whose class nobody knows (where objects are few, as with \
Reuters, the last test rows give way to them). No target row is labelled, but for {join_names(kept)}, which keeps \
one label per class. A common space is read by a linear machine of the mapped source rows; a system without one \
has its own rule. All features of the first step are kept, and the words as they are for systems that take counts. \
With *shuffled* pairs every source row has the target row of another pair. Without a map: the source's own linear \
machine names the paired source rows, their target rows take the names, and a rule of the target learns from these. \
The target-only rules have 1 label per class, as above; to them the paired rows are unlabelled rows like others."""
