"""What was measured, as a verdict: the sentence, the rows of the table and the points of the curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isthmus.verdict.evidence import geometry
from isthmus.verdict.question import Question
from isthmus.verdict.sentences import sentence, without_tests
from isthmus.verdict.settings import Setting
from isthmus.verdict.shared import SHARED
from isthmus.verdict.splits import NAMING
from isthmus.verdict.target_rules import TARGET_ONLY
from isthmus.verdict.trials import SPOILT, SYSTEM
from isthmus.verdict.verdict import CurvePoint, Row, Verdict

BEST = "best target-only rule"


def verdict_on(
    asked: Question, settings: Mapping[str, Setting], judged: str | None, system: str, n_splits: int
) -> Verdict:
    """The verdict on what is judged, with all else that was measured; None: there was nothing to test."""
    steps, naming = [s for group, s in settings.items() if group != NAMING], settings.get(NAMING)
    curve = tuple(
        CurvePoint(int(s.group), s.accuracy[SYSTEM], s.without, *vars(s.over_target).values()) for s in steps
    )
    found, names = geometry(asked), None if naming is None else naming.names
    rows = tuple(row for each in settings.values() for row in _rows(each))
    main = None if judged is None else settings[judged]
    if main is None:
        text = without_tests(asked.tested(1), naming, found)
        return Verdict(None, None, None, text, rows, curve, system, n_splits, 0, names, found)
    gain, text = main.over_target, sentence(main, steps, asked.unnamed, naming)
    span = (gain.low, gain.high)
    return Verdict(main.helps, gain.mean, span, text, rows, curve, system, n_splits, main.tested, names, found)


def _rows(each: Setting) -> Iterator[Row]:
    """The comparisons of a setting; single target-only rules without an interval, since the best is judged."""
    own = each.accuracy[SYSTEM]
    yield Row(each.group, "", own, None, None, None)
    for name in TARGET_ONLY:
        yield Row(each.group, name, each.accuracy[name], own - each.accuracy[name], None, None)
    yield Row(each.group, BEST, each.without, *vars(each.over_target).values())
    for name in SPOILT:
        if name in each.over_spoilt:
            yield Row(each.group, name, each.accuracy[name], *vars(each.over_spoilt[name]).values())
    if each.over_shared is not None:
        yield Row(each.group, SHARED, each.accuracy[SHARED], *vars(each.over_shared).values())
