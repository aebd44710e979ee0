"""The page on linking tables: every number on it comes from the records, and so does what fell short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO

import numpy as np

from isthmus.study.records import Record
from isthmus.view.canvas import METADATA, new_figure
from studies.linkage.methods import METHODS
from studies.linkage.scoring import name_rest, pool_bins
from studies.linkage.tables import (
    EMPTY,
    INCOMPLETE,
    LINKERS,
    Place,
    Results,
    calibration_table,
    cost_table,
    empty_table,
    first_known,
    pairs_table,
    score_table,
    title_of,
    worth_table,
)
from studies.linkage.tasks import KNOWN, TABLES, VARIANTS
from studies.linkage.unrelated import Case, summarize_cases

PICTURE = "pictures/linkage_reliability.png"
OURS = "isthmus"
BELOW_BASELINE, PAIRS_HURT, GAP, ECE = 0.01, 0.005, 0.03, 0.05
"""Allowed: F1 below the best baseline, F1 lost by known pairs, claimed less true precision, calibration error."""
GOALS = {
    ("Abt–Buy", "full"): 0.955,
    ("DBLP–ACM", "full"): 0.985,
    ("DBLP–ACM", "enciphered"): 0.98,
    ("mfeat fac–kar", "noise 0.35"): 0.70,
}
"""The least F1 without known pairs."""


def page(records: Sequence[Record], cases: Sequence[Case]) -> str:
    """The page in Markdown, of the runs on tables with partners and of the verdicts on many kinds of tables."""
    results = Results(records)
    tasks = [task for task in VARIANTS if results.systems(task)]
    versions = "; ".join(dict.fromkeys(record.versions for record in records))
    scores = "\n\n".join(score_table(results, task).markdown for task in tasks)
    return f"""\
# Linking two tables: isthmus beside tf-idf, splink, dedupe and recordlinkage

{summarize_results(results, cases)}\
Made by `python -m studies.linkage` from `studies/linkage/records.jsonl`. {versions}.

{WHAT}

## Without known pairs

{scores}

{_explain_marks(results, records)}

{empty_table(results).markdown}

## Known pairs

The baseline is the better one of tf-idf over words and over characters; for numeric data it is the shared columns \
alone. Either has the threshold that is best for the truth. Known pairs leave fewer pairs to find among as many \
other rows, so that F1 of new pairs can fall although nothing got worse: the last table compares on the same rows.

{pairs_table(results, [OURS, "dedupe"]).markdown}

{worth_table(results, OURS).markdown}

## Do the probabilities mean what they say?

{calibration_table(results).markdown}

![Share of right pairs over the probability that was claimed]({PICTURE})

## False claims

{CLAIMS}

{summarize_cases(cases)}

## Time and memory

{cost_table(results).markdown}

## What fell short

{_list(find_shortfalls(results))}

## How it was done

{HOW}
"""


SUMMARY = """\
## Summary

**Question.** Two tables describe some of the same objects, and no pair is known. How many pairs are found, how far \
are the stated probabilities right, and how often are matches claimed where there are none?

**Answer.** Without known pairs isthmus has an F1 of {abt:.3f} on Abt–Buy and {dblp:.3f} on DBLP–ACM. The best \
tf-idf matching has {abt_bar:.3f} and {dblp_bar:.3f}, with a threshold chosen by the truth. isthmus is above this \
baseline in {above} of {n} rows of the tables below, and within {near:g} of it in {level} more. With the letters of \
one table enciphered, F1 is {abt_cipher:.3f} and {dblp_cipher:.3f} (tf-idf {abt_cipher_bar:.3f} and \
{dblp_cipher_bar:.3f}). The claimed precision is within {gap:.0%} of the true one in {honest} of {claimed} rows. Of \
{unrelated} cases of unrelated tables, {false} were called matched.

**Limits.** Results depend on the informative columns: with the names of one table permuted, F1 on Abt–Buy is \
{abt_shuffled:.3f}. With few common rows it falls too ({abt_tenth:.3f} where 10 % of the pairs are kept). Where the \
only common columns are very noisy numbers, no match is returned without known pairs; ten pairs raise F1 on mfeat \
from {mfeat:.3f} to {mfeat_ten:.3f}, but on digits only to {digits_ten:.3f}. The other linkers ran with one set of \
settings for all tables; settings tuned to a table would improve them.

**What to do.** Match without pairs first, and read the verdict. If it is `matched`, check which columns were \
compared, and look at the matches with the lowest confidence. Add 10 to 30 known pairs if the verdict is `doubtful`, \
if the columns are noisy, or to measure the recall: on clean tables of texts they hardly change F1 ({abt:.3f} and \
{abt_known:.3f} with {known} pairs on Abt–Buy).

"""

CLAIMS = """\
Tables of many kinds without a common object, some of them real, and tables of which rows are the same objects \
(`python -m studies.linkage.unrelated`). A true success is right for at least half of the rows with a partner, and \
is called matched by one control run; the verdict, with its further control runs, should keep it. The first final \
run on frames claimed 8 of 109 tables and led to stricter rules; these are fresh draws, two of which led to one more \
rule and were then run again (the module says which)."""

WHAT = """\
F1, precision and recall are of *new* pairs: known ones count neither as found nor as missed. The columns \
`tfidf-words`, `tfidf-chars` and `columns` are no linkers: they return rows that choose each other, above the \
threshold that is best for the truth, which nobody has. They are the bar that a linker without a known pair has to \
reach."""

HOW = """\
- **Data.** Abt–Buy, DBLP–ACM and FEBRL without their ids. 60, 30, 10 %: this share of the true pairs is kept; \
half of the others lose their row of A, half their row of B. Renamed: the columns of B have other names and \
another order. Dropped: B has no description (Abt–Buy), authors (DBLP–ACM), social security number (FEBRL). \
Shuffled: name, title or social security number of B is permuted. Enciphered: the letters of B are in ROT13; \
digits stay as they are. Dirty: both tables have typos in 15 % of their cells, currencies beside prices, several \
words for missing cells; the header of B has capitals and spaces. Many-to-one: a fifth of the paired rows of A \
have a copy with typos in every cell.
- Debian: 1,000 packages by their descriptions in two languages. mfeat and digits: 1,000 objects by two views, and \
eight columns that both sides measure with noise, in units of the deviation. With noise 0.35 the columns of mfeat \
alone find about 0.3, the case that the goal of 0.70 is about; it was chosen for that.
- **Linkers.** Each run is a process of its own, linear algebra in one thread; seconds are processor time and \
include the imports of the linker. splink, dedupe and recordlinkage are in environments of their own, with one set \
of settings for all tables (`studies/linkage/runners`), and are *given* the columns that mean the same, also where \
these are renamed. Their settings follow their documentation and were revised once, on seed 100: with Jaro–Winkler \
similarities alone splink had an F1 of 0.03 and recordlinkage 0.00 on Abt–Buy, so that texts are compared by rare \
words and by cosines. More work on each table would find better ones.
- dedupe can't do without pairs: it learns from true pairs and as many wrong ones, which join rows of different \
true pairs. It has its own one-to-one matching, and keeps its scores in memory (`in_memory=True`), which its peak \
memory shows; of the pairs that splink and recordlinkage find, those of the highest probability are taken first, \
each row once.
- **tf-idf.** Whole rows, 1 + log tf, idf of both tables together, no terms that several rows of one table have \
and none of the other; words with id-like tokens, or characters (`char_wb`, 3 to 5). Rows of known pairs are no \
candidates.
- **Probabilities.** The claimed precision is the mean probability of the returned pairs; the calibration error \
(ECE) is over ten bins and the pairs of all seeds together. It is measured without known pairs, for dedupe with \
30. The figure pools all variants, those without a common row too.
- Seeds 0 to 4 draw rows, their order and known pairs; settings were chosen on seed 100, but for one repair of the \
splink runner after a failure on seed 0. The seeds draw from the same tables: a whole table is the same for all of \
them but for the order of its rows.
- Records of isthmus on FEBRL, and on Debian, mfeat and digits with known pairs, were made before expected wrong \
matches were limited by the number of all matches ([how probabilities are made](matching.md)); all others after. Two \
runs on DBLP–ACM without a common row had claimed pairs that were hardly expected to be right more often than not; \
such matchings are doubtful since, and these two were run again. The verdict of no other record changes."""


def summarize_results(results: Results, cases: Sequence[Case]) -> str:
    """Return the summary for practitioners; empty where a record that it needs is missing."""
    abt, dblp, mfeat = "Abt–Buy", "DBLP–ACM", "mfeat fac–kar"
    places = [p for p in results.places() if p[1] != EMPTY and np.isfinite(results.mean(p, OURS, 0))]
    gains = [results.mean(place, OURS, 0) - results.best_baseline(place, 0) for place in places]
    errors = [results.mean(place, OURS, 0, "claimed") - results.mean(place, OURS, 0, "precision") for place in places]
    errors = [error for error in errors if np.isfinite(error)]
    known = KNOWN[-1]
    numbers = {
        "abt": results.mean((abt, "full"), OURS, 0),
        "abt_bar": results.best_baseline((abt, "full"), 0),
        "abt_cipher": results.mean((abt, "enciphered"), OURS, 0),
        "abt_cipher_bar": results.best_baseline((abt, "enciphered"), 0),
        "abt_shuffled": results.mean((abt, "shuffled"), OURS, 0),
        "abt_tenth": results.mean((abt, "10 %"), OURS, 0),
        "abt_known": results.mean((abt, "full"), OURS, known),
        "dblp": results.mean((dblp, "full"), OURS, 0),
        "dblp_bar": results.best_baseline((dblp, "full"), 0),
        "dblp_cipher": results.mean((dblp, "enciphered"), OURS, 0),
        "dblp_cipher_bar": results.best_baseline((dblp, "enciphered"), 0),
        "mfeat": results.mean((mfeat, "noise 1"), OURS, 0),
        "mfeat_ten": results.mean((mfeat, "noise 1"), OURS, 10),
        "digits_ten": results.mean(("digits", "noise 1"), OURS, 10),
    }
    apart = [case for case in cases if not case.related]
    if not apart or not np.isfinite(list(numbers.values())).all():
        return ""
    return SUMMARY.format(
        **numbers,
        known=known,
        near=BELOW_BASELINE,
        gap=GAP,
        n=len(places),
        above=sum(gain > 0.0 for gain in gains),
        level=sum(-BELOW_BASELINE <= gain <= 0.0 for gain in gains),
        honest=sum(abs(error) <= GAP for error in errors),
        claimed=len(errors),
        unrelated=len(apart),
        false=sum(case.ok is True for case in apart),
    )


def _explain_marks(results: Results, records: Sequence[Record]) -> str:
    seeds = {name: len({r.seed for r in records if r.system == name}) for name in METHODS}
    counts = ", ".join(f"{name} {n}" for name, n in seeds.items() if n)
    said = [f"Means over {results.seeds} seeds; {INCOMPLETE} fewer. Seeds that were begun: {counts}."]
    failed = Counter((r.system, r.group, r.variant, r.status) for r in records if r.score is None)
    said += [
        f"{system}, {task}, {variant}: {n} failed ({why})." for (system, task, variant, why), n in failed.items()
    ]
    return " ".join(said)


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences) or "Nothing, by the measures of this page."


def find_shortfalls(results: Results) -> Iterator[str]:
    """Yield a sentence for each place where isthmus misses what the study asks for."""
    places = [place for place in results.places() if place[1] != EMPTY]
    missing = [place for place in places if not results.find(place, OURS, 0)]
    if missing:
        yield f"isthmus was not run on {len(missing)} of {len(places)} rows of the tables."
    for place in (place for place in places if place not in missing):
        for sentence in [*_compare_scores(results, place), *_check_probabilities(results, place)]:
            yield f"{', '.join(place)}: {sentence}"
    for task in TABLES:
        claimed = results.mean((task, EMPTY), OURS, 0, "returned")
        if claimed > 0:
            yield f"{task}, {EMPTY}: {claimed:.1f} pairs claimed."


def _compare_scores(results: Results, place: Place) -> Iterator[str]:
    scores = {known: results.mean(place, OURS, known) for known in KNOWN}
    for known, score in scores.items():
        best = results.best_baseline(place, known)
        if score < best - BELOW_BASELINE:
            yield f"with {known} pairs F1 is {score:.3f}, the best baseline {best:.3f}."
    for other in LINKERS:
        for known in METHODS[other].known if other != OURS else ():
            theirs = results.mean(place, other, known)
            if scores[known] < theirs:
                yield f"with {known} pairs F1 is {scores[known]:.3f}, of {other} {theirs:.3f}."
    if scores[0] < (goal := GOALS.get(place, 0.0)):
        yield f"F1 without pairs is {scores[0]:.3f}, the goal {goal:.3f}."
    for known in KNOWN[1:]:
        before = results.mean(place, OURS, 0, name_rest(known))
        if scores[known] < before - PAIRS_HURT:
            yield f"on the same rows, {known} pairs lower F1 from {before:.3f} to {scores[known]:.3f}."


def _check_probabilities(results: Results, place: Place) -> Iterator[str]:
    for known in KNOWN:
        claimed, true, ece = (results.mean(place, OURS, known, name) for name in ("claimed", "precision", "ece"))
        if abs(claimed - true) > GAP:
            yield f"with {known} pairs the claimed precision is {claimed:.3f}, the true one {true:.3f}."
        if ece > ECE:
            yield f"with {known} pairs the calibration error is {ece:.3f}."


def draw_reliability(records: Sequence[Record]) -> bytes:
    """Draw the share of right pairs over the claimed probability, a panel for each linker, as a PNG file."""
    systems = [name for name in LINKERS if any(r.system == name and r.figures for r in records)]
    figure = new_figure(3.2 * max(len(systems), 1), 3.4)
    for ax, system in zip(figure.subplots(1, max(len(systems), 1), squeeze=False)[0], systems, strict=False):
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for task in VARIANTS:
            setting = f"{first_known(system)} pairs"
            chosen = [r for r in records if (r.system, r.group, r.setting) == (system, task, setting)]
            n, confidence, right = pool_bins(r.figures or {} for r in chosen)
            if n.any():
                there = n > 0
                ax.plot(confidence[there], right[there], marker="o", markersize=3, linewidth=1, label=task)
        ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="claimed probability", ylabel="share of right pairs")
        ax.set_title(title_of(system), fontsize=9)
        if np.any([len(line.get_xdata()) for line in ax.lines[1:]]):
            ax.legend(fontsize=6)
    content = BytesIO()
    figure.savefig(content, format="png", dpi=100, metadata=METADATA["png"])
    return content.getvalue()
