"""The page on few labels: every number and every verdict on it comes from the records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from isthmus.evidence.comparison import format_points
from isthmus.study.board import ABSENT, HOLDS, REVERSED, Claim
from isthmus.study.records import SCHEME, Record
from studies.labels import shuffled_pairs
from studies.labels.error_rates import TRUE
from studies.labels.parts import BOTH, FULL, KMEANS, LDA, PLAIN, RANDOM, SHARES, SPOILT, STUDIES, TRANSFER
from studies.labels.tables import (
    BEST,
    CLUSTERED,
    WORDS,
    Results,
    claims,
    difference_cell,
    difference_table,
    results,
    score_table,
)
from studies.labels.task import ERROR, HELD_OUT, SURE, UNNAMED, USED

TARGET_ONLY = {"naming": PLAIN, "few": (*PLAIN, BOTH), "real": (*PLAIN, BOTH)}
"""Who stands for the target alone; the source's class shares are a word of the source."""
BAR = {"naming": RANDOM, "few": LDA, "real": LDA}
"""What a spoilt source must not fall below."""
OTHERS = {"naming": (FULL,), "few": (), "real": (SHARES,)}
"""Further systems that label transfer is compared with."""


def comparisons(part: str) -> list[tuple[str, str]]:
    """Who is compared with whom."""
    bars = dict.fromkeys((BEST, BAR[part], *OTHERS[part]))
    true = [(TRANSFER, name) for name in (*bars, *SPOILT.values())]
    return [*true, *((name, BAR[part]) for name in SPOILT.values())]


def page(
    records: Mapping[str, Sequence[Record]],
    verdicts: str = "",
    first: Sequence[Record] = (),
    errors: Sequence[Record] = (),
) -> str:
    """The page in Markdown: parts that have records, the first run of one of them, a section on the verdict.

    ``errors`` are the records of how often the verdict is wrong; the summary counts them.
    """
    parts = [part for part in STUDIES if records.get(part)]
    every = [record for part in parts for record in records[part]]
    sections = "\n".join(section(part, records[part]) for part in parts)
    return f"""\
# Few labels: what a source with other features is worth

{summarize_results(records, errors)}\
Made by `python -m studies.labels` from the records in `studies/labels/records`. \
{"; ".join(dict.fromkeys(record.versions for record in every))}. One method with one set of constants, chosen on \
other seeds: `isthmus.LabelTransfer()` with its defaults.

{HOW}

{sections}
{first_run(first)}{verdicts}{describe_shortfalls(records)}## How the runs ended

{endings(every)}
"""


HOW = f"""\
- No object (image, document, package, cell) is in two of source, target and test. Rows of text are scaled to \
length one; numbers are standardised first, and counts of visual words replaced by their square roots, by the \
training rows of either domain. All systems have the same rows. MLHD, ARC, CCA, 1-NN and label spreading see \
them on three principal axes per class, self-trained LDA (but for real sizes) on five, of unit length again; the \
others choose for themselves.
- *Target-only* controls never see the source: self-trained LDA, balanced k-means, 1-NN, SVM, label spreading, \
and the mean of the first two. "Best target-only" is the best of them by its own test score, a bar that is higher \
than any of them.
- A *spoilt* source has random features (noise), permuted labels, or classes under each other's names (renamed): \
what label transfer gains with one of these, it did not gain from the source.
- {CLUSTERED}"""

SUMMARY = """\
## Summary

**Question.** A target collection has few labels. How much accuracy does a labelled source with other features add, \
and can it name classes without a labelled row?

**Answer.** It can name classes: where half of the classes have no label, label transfer calls {lowest:.0f} to \
{highest:.0f} % of their rows right, by data set, where clusters with random names have {luck_lowest:.0f} to \
{luck_highest:.0f} %. With one label in every class, the gain over the best rule that never sees the source is \
significant on {gains}. On the other data sets ({others}) the difference is between {smallest} and {largest} points \
and not significant. With more rows and 10 labels per class the gain is still {debian} points on Debian and \
{reuters} on Reuters.

**Is it safe?** A corrupted source lowers the accuracy significantly in {harmed} of {compared} comparisons with the \
target's own rule, by at most {harm:.1f} points. `isthmus.does_source_help` said "helps" of {wrong} of {spoilt} \
corrupted sources.

**Limits.** The geometry of the classes must agree in both collections. For images and some cell assays it often \
does not, and then unlabelled target rows teach as much as the source. The intervals are about other draws from \
these data, not about other data.

**What to do.** Label at least one row of each class if you can; then compare `LabelTransfer` with a self-trained \
LDA of the target alone. Read `verdict_`: it says whether the source was used, and why. With 20 and more labelled \
rows ask `does_source_help`. Check the names of classes without a label on a few rows.

"""

HEADS = {
    "naming": """\
## Classes that nobody labelled

Half of the classes, drawn at random, have 3 labelled target rows each, the others none. 20 source rows, 30 \
unlabelled target rows and at most 50 test rows per class; "digits demo" is `isthmus.data.datasets.load_digits(3)`. \
Accuracy is over the test rows of all classes. Target-only rules can't name the other half; clusters with random \
names are what luck would give, as the mean over all ways to give the names.""",
    "few": """\
## Every class labelled, at the paper's size

20 source rows per class; 1, 3 or 5 labelled and 20 unlabelled target rows per class (fewer in small classes, so \
that as many can be tested); at most 500 test rows.""",
    "real": """\
## Every class labelled, at real sizes

1,400 rows of either domain, drawn whatever their class, with Debian in English and French; fewer where there are \
fewer objects: 950 from German into English, 840 from French into German, 290 with Reuters, 500 with SNARE, 900 \
with mfeat and 850 with digits. 1, 3 or 10 target rows of each class are labelled. Accuracy is over the unlabelled \
target rows of the fit; below it, that of rows held out. "The source's class shares" are one word of the source, \
and often worth as much as the rest.""",
}
SHARES_NOTE = """\
Label transfer estimates the class shares where labelled rows show that they are unequal, its default now; with one \
label per class they never do. The trials in which they do were run anew: {runs}. In all others the default assumes \
what it did before, equal shares or those of the source behind their test, and the earlier runs stand."""
GOAL = 8.0
"""The calibration error in per cent that is aimed at."""
SHORT = """\
## What fell short

- **Probabilities.** The expected calibration error is to be {goal:.0f} % at most. It is larger{errors}. Names of \
classes without a label are as sure as those of the others, and with one label per class no label can be held out.
- **Class shares.** Where labelled rows show unequal shares by chance, the estimate costs accuracy (mfeat, 6 and 9 \
by Fourier coefficients). An estimate needs a large deviation; below it shares stay equal and bind less strictly \
([log of experiments](research.md)).
"""


def summarize_results(records: Mapping[str, Sequence[Record]], errors: Sequence[Record]) -> str:
    """The summary for practitioners; empty where a record that it needs is missing."""
    spoilt = [r.score for r in errors if r.score is not None and not r.variant.endswith(TRUE)]
    if not spoilt or not all(records.get(part) for part in STUDIES):
        return ""
    found = {part: results(STUDIES[part](None), records[part], TARGET_ONLY[part]) for part in STUDIES}
    naming, one = found["naming"]["3"], found["few"]["1"]
    named = [naming.mean(TRANSFER, data, UNNAMED) for data in naming.sets]
    luck = [naming.mean(RANDOM, data, UNNAMED) for data in naming.sets]
    above = {data: claims(one, comparisons("few"))[TRANSFER, BEST, data] for data in one.sets}
    many = {data: found["real"]["10"].difference(TRANSFER, BEST, data) for data in ("Debian", "Reuters")}
    gains = {data: 100 * claim.difference.mean for data, claim in above.items() if claim.difference is not None}
    if len(gains) < len(above) or None in many.values() or not np.isfinite(named + luck).all():
        return ""
    shown = [data for data in gains if above[data].verdict == HOLDS]
    open_gains = [gain for data, gain in gains.items() if data not in shown] or [0.0]
    harms = list(_judge_spoilt(found))
    return SUMMARY.format(
        lowest=min(named),
        highest=max(named),
        luck_lowest=min(luck),
        luck_highest=max(luck),
        gains=" and ".join(f"{data} ({format_points(gains[data])} points)" for data in shown) or "no data set",
        others=", ".join(data for data in gains if data not in shown) or "none",
        smallest=format_points(min(open_gains)),
        largest=format_points(max(open_gains)),
        **{data.lower(): format_points(100 * d.mean) for data, d in many.items() if d is not None},
        harmed=sum(claim.verdict == REVERSED for claim in harms),
        compared=len(harms),
        harm=max([-100 * c.difference.mean for c in harms if c.verdict == REVERSED and c.difference], default=0.0),
        wrong=sum(score == 1.0 for score in spoilt),
        spoilt=len(spoilt),
    )


def _judge_spoilt(found: Mapping[str, Mapping[str, Results]]) -> Iterator[Claim]:
    """Spoilt sources against the target's own rule, in every part, variant and data set."""
    for part, variants in found.items():
        for each in variants.values():
            judgements = claims(each, comparisons(part))
            yield from (judgements[name, BAR[part], data] for name in SPOILT.values() for data in each.sets)


def section(part: str, records: Sequence[Record]) -> str:
    """A part: its tables for each variant, and a sentence for each data set."""
    study = STUDIES[part](None)
    found = results(study, records, TARGET_ONLY[part])
    blocks = [HEADS[part], describe_shares(part, records)]
    blocks = [block for block in blocks if block]
    for variant, each in found.items():
        words = study.variants[variant]
        blocks.append(f"### {words[0].upper()}{words[1:]}")
        blocks.append(score_table(each, study.columns, "Accuracy in per cent").markdown)
        if part == "naming":
            title = "Accuracy on the classes without a label"
            blocks.append(score_table(each, study.columns[:-1], title, UNNAMED).markdown)
        if part == "real":
            names = (TRANSFER, LDA, SHARES, *SPOILT.values())
            blocks.append(score_table(each, names, "Accuracy on rows held out", HELD_OUT).markdown)
        names = tuple(name for name in (TRANSFER, *SPOILT.values()) if has_figure(each, name, ERROR))
        if names:  # older records have none
            blocks.append(score_table(each, names, "Expected calibration error in per cent", ERROR).markdown)
            blocks.append(score_table(each, names, "Accuracy of rows with a probability of 90 %", SURE).markdown)
        pairs = comparisons(part)
        blocks.append(difference_table(each, pairs, "Paired differences in points [95 % interval]").markdown)
        judgements = claims(each, pairs)
        blocks.append("\n".join(sentence(part, each, data, judgements) for data in each.sets))
    return "\n\n".join(blocks) + "\n"


def known_gains(records: Mapping[str, Sequence[Record]]) -> dict[str, float]:
    """What label transfer gains over the best target-only rule with 1 label per class, in points by pair of views."""
    found = results(STUDIES["few"](None), records["few"], TARGET_ONLY["few"])["1"]
    gains = {}
    for group, transfer in zip(found.board.groups, found.board.scores(TRANSFER), strict=True):
        place = found.board.groups.index(group)
        best = max(100 * found.board.scores(name)[place].mean() for name in TARGET_ONLY["few"])
        gains[group.replace("SNARE ", "SNARE-seq ")] = float(100 * transfer.mean() - best)
    return gains


def describe_shares(part: str, records: Sequence[Record]) -> str:
    """What was run with estimated shares, by the fingerprints of the records; empty of a part without such runs."""
    if part == "naming":
        return ""
    words, runs = STUDIES[part](None).variants, []
    new = {name: find_new_trials(records, name) for name in (TRANSFER, *SPOILT.values())}
    for name, told in ((TRANSFER, "the true source"), *((each, f"{kind} ones") for kind, each in SPOILT.items())):
        counts = [f"{sum(variant == v for _, variant, _ in new[name])} with {words[v]}" for v in words]
        runs.append(f"{told} {', '.join(counts)}")
    said = SHARES_NOTE.format(runs="; ".join(runs))
    if missing := len(new[TRANSFER] - new[SPOILT["noise"]]) if part == "real" else 0:
        said += f" In {missing} trials (Debian) the true source was run anew and the corrupted ones were not."
    return said


def find_new_trials(records: Sequence[Record], name: str) -> set[tuple[str, str, int]]:
    """Return the trials of a system whose records have a fingerprint of today's scheme."""
    found = (r for r in records if r.system == name and str(r.fingerprint).startswith(SCHEME))
    return {(r.group, r.variant, r.seed) for r in found}


def describe_shortfalls(records: Mapping[str, Sequence[Record]]) -> str:
    """Where calibration errors are above the goal."""
    said = []
    for part in STUDIES:
        study = STUDIES[part](None)
        for variant, each in results(study, records.get(part, ()), TARGET_ONLY[part]).items():
            errors = {data: each.mean(TRANSFER, data, ERROR) for data in each.sets} if each.board.seeds else {}
            if above := [f"{data} {error:.0f}" for data, error in errors.items() if error > GOAL]:
                said.append(f"{study.title.lower()}, {study.variants[variant]}: {', '.join(above)}")
    where = f" (per cent): {'; '.join(said)}" if said else " nowhere"
    return SHORT.format(goal=GOAL, errors=where) + shuffled_pairs.describe(shuffled_pairs.read()) + "\n"


def has_figure(found: Results, name: str, figure: str) -> bool:
    """Return whether a figure was recorded of a system."""
    return any(bool(np.isfinite(found.scores(name, data, figure)).any()) for data in found.sets)


def first_run(records: Sequence[Record]) -> str:
    """The run that the ensemble was changed after, with 1 label per class; empty without records."""
    if not records:
        return ""
    found = results(STUDIES["few"](None), records, TARGET_ONLY["few"])["1"]
    names = (TRANSFER, *SPOILT.values(), LDA, KMEANS, BOTH)
    title = "The first run, seeds 0 to 9, 1 label per class: accuracy in per cent"
    return f"{FIRST}\n\n{score_table(found, names, title).markdown}\n\n"


FIRST = """\
### What was run before

Seeds 0 to 9 were run with an earlier version, in which the target's own ensemble was self-trained LDA and balanced \
k-means in equal parts. There it was shown to fall below LDA alone on SNARE, and k-means alone was better on \
Office-Caltech. The part of k-means was then made to go by how sure it is of itself, on development seeds \
(docs/research.md), and the runs above are of fresh seeds."""


def sentence(part: str, found: Results, data: str, judgements: Mapping[tuple[str, str, str], Claim]) -> str:
    """What the numbers say of a data set, whichever way they fall."""
    level, best = found.mean(TRANSFER, data), found.best(data)
    if level != level or found.mean(best, data) != found.mean(best, data):
        return f"- **{data}.** Not run, or not finished."
    said = [f"- **{data}.** Label transfer: {_number(level)} %"]
    if part == "naming":
        said[0] += f", and {_number(found.mean(TRANSFER, data, UNNAMED))} % of the rows of classes without a label"
    bar = judgements[TRANSFER, BEST, data]
    said.append(f"the best target-only control, {best}, has {_number(found.mean(best, data))} %: {_against(bar)}")
    better = [kind for kind, name in SPOILT.items() if judgements[TRANSFER, name, data].verdict == "holds"]
    said.append(f"the true source is shown to be better than {_join_words(better) or 'none of the spoilt ones'}")
    said.append(_harm(part, found, data, judgements))
    used = ", ".join(f"{kind} {_number(found.mean(name, data, USED))}" for kind, name in SPOILT.items())
    said.append(f"the source had a part in {_number(found.mean(TRANSFER, data, USED))} % of the rules ({used})")
    return "; ".join(said) + "."


def _harm(part: str, found: Results, data: str, judgements: Mapping[tuple[str, str, str], Claim]) -> str:
    """Whether a spoilt source does harm."""
    bar = BAR[part]
    away = {kind: found.mean(name, data) - found.mean(bar, data) for kind, name in SPOILT.items()}
    levels = ", ".join(f"{kind} {format_points(points)}" for kind, points in away.items())
    harmed = [kind for kind, name in SPOILT.items() if judgements[name, bar, data].verdict == "reversed"]
    shown = f"**shown to do harm: {_join_words(harmed)}**" if harmed else "none is shown to do harm"
    return f"spoilt sources, in points from {bar}: {levels}; {shown}"


def _against(claim: Claim) -> str:
    if claim.difference is None:
        return "not compared"
    return f"{difference_cell(claim)}, {WORDS[claim.verdict]}"


def _join_words(kinds: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(kinds[:-1]), *kinds[-1:]]))


def _number(value: float) -> str:
    return f"{value:.1f}" if value == value else ABSENT


def endings(records: Iterable[Record]) -> str:
    """What failed, what was not certified, and what is out of date."""
    every = list(records)
    failed = [record for record in every if record.score is None]
    missed = [record for record in every if record.score is not None and not record.certified]
    counts: dict[str, int] = {}
    for record in (*failed, *missed):
        words = f"{record.system} on {record.group} ({record.status[:60]})"
        counts[words] = counts.get(words, 0) + 1
    said = [f"{len(every)} records; {len(failed)} failed, {len(missed)} were not certified"]
    said += [f"{words}: {n}" for words, n in counts.items()]
    return "; ".join(said) + "." + _describe_outdated(every)


def _describe_outdated(records: Sequence[Record]) -> str:
    old = sum(
        each.board.count_outdated_records()
        for part in STUDIES
        for each in results(STUDIES[part](None), (r for r in records if r.experiment == part), PLAIN).values()
        if each.board.seeds
    )
    return f" {old} records are of another version, or of other systems or rows." if old else ""
