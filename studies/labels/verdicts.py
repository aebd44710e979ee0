"""What ``does_source_help`` says of each data set, and how often it is wrong: a section of the page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from isthmus import Verdict, does_source_help
from isthmus._core.files import write_text
from isthmus.evidence.comparison import format_points
from isthmus.exceptions import InputError
from isthmus.study.board import TextTable, format_seeds
from isthmus.study.records import Record
from isthmus.study.source_value.result import CurvePoint
from isthmus.study.trial_rows import Trial
from isthmus.view.canvas import METADATA, new_figure
from isthmus.view.plots import plot_labels_curve
from studies.labels.error_rates import PAIRS, QUESTIONS, TRUE, VARIANTS, Draw, power, rates, seconds, study

FILE = "verdicts.jsonl"
PICTURE = "pictures/verdict_curves.png"
"""Where the page has the curves, as it links to them."""
ROWS_PER_CLASS = 60
"""Of either domain, as far as there are so many: a user's collection rather than the paper's."""
HEAD = f"""\
## What the verdict says

`isthmus.does_source_help` on at most {ROWS_PER_CLASS} rows per class of either domain, all target rows labelled; no \
object is in both. Once with every class labelled, and once with a third of the classes without a label, where it \
names them. These runs were made by an earlier rule, which was better than every control and corrupted source by \
two-sided intervals of 95 %, in five splits; today's ([verdict.md](verdict.md)) decides more often."""


def ask(
    folder: Path | None, out: Path, pairs: Iterable[str] = PAIRS, *, seed: int = 0, n_jobs: int = 1
) -> Iterator[str]:
    """Ask of what is missing, and keep every answer as a line of JSON; what was said, one by one."""
    kept = read(out)
    draw = Draw(folder, tuple(pairs), ROWS_PER_CLASS, ROWS_PER_CLASS)
    draw.check()
    for pair in draw.pairs:
        for question in QUESTIONS:
            if any((each["pair"], each["question"], each["seed"]) == (pair, question, seed) for each in kept):
                continue
            rows = draw(Trial(pair, f"{question}, {TRUE}", seed))
            given = rows.X_source, rows.y_source, rows.X_target, rows.y_target
            verdict: Verdict = does_source_help(*given, random_state=10_000 + seed, n_jobs=n_jobs)
            kept.append({"pair": pair, "question": question, "seed": seed} | verdict.to_dict())
            write_text(out / FILE, "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in kept))
            yield f"{pair}, {QUESTIONS[question]}: {verdict}"


def read(folder: Path) -> list[dict[str, Any]]:
    """The answers that are kept in a folder."""
    path = folder / FILE
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    try:
        found = [json.loads(line) for line in lines]
        return [each for each in found if {"pair", "question", "seed", "sentence", "curve"} <= set(each)]
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: expected a line of JSON for each verdict, got {error}.") from error


def section(
    verdicts: Sequence[Mapping[str, Any]], errors: Sequence[Record], gains: Mapping[str, float] | None = None
) -> str:
    """Sentences, curves and error rates; empty without any.

    ``gains`` are those of label transfer with one label per class on other draws, in points by pair of views.
    """
    blocks = []
    if verdicts:
        blocks += [HEAD, _sentences(verdicts), f"![The same curves]({PICTURE})", curves(verdicts).markdown]
    if errors:
        seeds = sorted({record.seed for record in errors})
        there = [variant for variant in VARIANTS if any(record.variant == variant for record in errors)]
        boards = {variant: study().board(errors, seeds, variant) for variant in there}
        said = ERRORS.format(seeds=format_seeds(seeds))
        blocks += ["## How often the verdict is wrong", said, rates(boards).markdown]
        blocks += [POWER, power(errors, gains or {}).markdown, seconds(errors).markdown]
    return "\n\n".join(blocks) + ("\n\n" if blocks else "")


ERRORS = """\
Of a spoilt source, "helps" is wrong. Real runs of today's rule: 20 source rows and 21 labelled target rows per \
class (fewer in small classes), pairs of views of digits, mfeat, Debian, Reuters and SNARE-seq and made data, \
{seeds}. Once with every class labelled and one label per class shown, and, on fewer draws, with a third of the \
classes without a label, where the verdict is on their names. Where a gate stays closed, noise, permuted and renamed \
sources of one draw give the same fits, so that these runs are fewer pieces of evidence than their number says. What \
rules of the target alone learn from a draw was computed once for all its sources, with the same result."""
POWER = """\
Of the true sources some help and some do not. The next table groups them by what label transfer gains over the best \
target-only rule with one label per class in the runs [above](#1-label-per-class), which are other draws; of some \
pairs of views that is not known. Seconds are those of questions that were asked one by one."""


def _sentences(verdicts: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(f"- **{each['pair']}**, {QUESTIONS[each['question']]}: {each['sentence']}" for each in verdicts)


def curves(verdicts: Sequence[Mapping[str, Any]]) -> TextTable:
    """Accuracy without the source, and what it adds, by labels per class, where every class is labelled."""
    drawn = [each for each in verdicts if each["question"] == "few" and each["curve"]]
    labels = sorted({point["labels"] for each in drawn for point in each["curve"]})
    rows = tuple((each["pair"], *(_cell(each["curve"], n) for n in labels)) for each in drawn)
    title = "Accuracy of the best rule without the source, and what the source adds in points [95 % interval]"
    return TextTable(title, ("labels per class", *map(str, labels)), rows)


def picture(verdicts: Sequence[Mapping[str, Any]]) -> bytes:
    """The curves, a panel for each pair, as a PNG file."""
    drawn = [each for each in verdicts if each["question"] == "few" and each["curve"]]
    figure = new_figure(3.2 * len(drawn), 3.4)
    for ax, each in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True):
        plot_labels_curve(_Curve(tuple(CurvePoint(**point) for point in each["curve"])), ax)
        ax.set_title(f"{each['pair']}: {each['verdict']}", fontsize=9)
    content = BytesIO()
    figure.savefig(content, format="png", dpi=100, metadata=METADATA["png"])
    return content.getvalue()


@dataclass(frozen=True)
class _Curve:
    """What is drawn of a verdict that was kept."""

    curve: tuple[CurvePoint, ...]
    sentence: str = ""
    rows: tuple[Any, ...] = ()


def _cell(curve: Sequence[Mapping[str, float]], labels: int) -> str:
    for point in curve:
        if point["labels"] == labels:
            low, high = (format_points(100 * point[end]).removeprefix("+") for end in ("low", "high"))
            return f"{100 * point['without']:.1f}, {format_points(100 * point['difference'])} [{low}, {high}]"
    return ""
