"""One sentence: what the source is worth, or why nobody can tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus.verdict.differences import Estimate
from isthmus.verdict.evidence import Geometry
from isthmus.verdict.settings import WORTH, Names, Setting
from isthmus.verdict.splits import NAMING


def labels(k: float) -> str:
    """A number of labels in words.

    Examples
    --------
    >>> labels(1), labels(3)
    ('1 label per class', '3 labels per class')
    """
    return f"{k:g} label{'' if k == 1 else 's'} per class"


def where(setting: Setting) -> str:
    """The setting in words."""
    return "where classes are hidden" if setting.group == NAMING else f"with {labels(int(setting.group))}"


def sentence(judged: Setting, steps: Sequence[Setting], unnamed: int, naming: Setting | None) -> str:
    """The verdict on what was judged, with what else is worth knowing."""
    if judged.group == NAMING and judged.names is not None:
        return _on_names(judged, judged.names, unnamed)
    text = {True: _yes, False: _no, None: _open}[judged.helps](judged)
    more = [_as_many_labels(judged, steps), _until(judged, steps), _shared(judged)] if judged.helps else []
    if unnamed and naming is None:
        more.append(f"whether it names the {unnamed} classes that nobody labelled, nobody can test")
    elif naming is not None and naming.names is not None and naming.helps:
        more.append(f"it names classes that nobody labelled ({_shares(naming.names)})")
    return "; ".join([text, *filter(None, more)]) + "."


def _yes(s: Setting) -> str:
    return f"The source is worth {s.over_target} {where(s)}"


def _no(s: Setting) -> str:
    if s.over_target.high < WORTH:
        return f"The source is not worth having: {s.over_target} {where(s)}, against the best rule that never sees it"
    name, least = _least(s)
    return (
        f"The source does not help: {where(s)} the system is no better with it than with a {name} ({least}), "
        f"and {s.over_target} against the best rule that never sees it"
    )


def _open(s: Setting) -> str:
    name, least = _least(s)
    if s.over_target.low > 0.0:
        return (
            f"Can't tell whether it is the source: {s.over_target} {where(s)}, but only {least} against the same "
            f"system with a {name}"
        )
    return f"Can't tell: {s.over_target} {where(s)}, from {s.tested} tested rows"


def _least(s: Setting) -> tuple[str, Estimate]:
    """The spoilt source that the true one is least sure to be better than."""
    return min(s.over_spoilt.items(), key=lambda each: (each[1].high >= WORTH, each[1].low))


def _as_many_labels(judged: Setting, steps: Sequence[Setting]) -> str:
    """How many labels target-only needs for the same."""
    if len(steps) < 2:
        return ""
    k = labels_for(judged.without + judged.over_target.mean, steps)
    if k is None:
        return f"without it, target-only does not reach that with {labels(int(steps[-1].group))}"
    return f"without it, target-only needs about {labels(k)} for the same"


def labels_for(accuracy: float, steps: Sequence[Setting]) -> int | None:
    """Labels per class at which the curve without the source reaches an accuracy: None, if beyond its end.

    Straight lines over the logarithm of the labels; where the curve falls, by its largest value so far.
    """
    k = np.array([int(s.group) for s in steps], dtype=float)
    curve = np.maximum.accumulate([s.without for s in steps])
    if accuracy > curve[-1]:
        return None
    last = int(np.argmax(curve >= accuracy))
    if last == 0:
        return int(k[0])
    rise = (accuracy - curve[last - 1]) / (curve[last] - curve[last - 1])
    return max(int(k[0]), round(float(np.exp(np.interp(rise, [0.0, 1.0], np.log(k[last - 1 : last + 1]))))))


def _until(judged: Setting, steps: Sequence[Setting]) -> str:
    """Where the gain is no longer to be seen."""
    lost = [s for s in steps if s.over_target.low <= 0.0]
    return f"{where(lost[0])}, {lost[0].over_target} is left" if lost else ""


def _shared(s: Setting) -> str:
    if s.over_shared is None or s.over_shared.low > 0.0:
        return ""
    return f"a plain rule on the columns that both share does as well ({s.over_shared} between them)"


def _shares(names: Names) -> str:
    low, high = (f"{100 * share:.0f}" for share in (names.right.low, names.right.high))
    return (
        f"{100 * names.right.mean:.0f} % [{low}, {high}] of the rows of {names.classes} hidden classes right, with "
        f"spoilt sources {100 * names.spoilt:.0f} %"
    )


def _on_names(judged: Setting, names: Names, unnamed: int) -> str:
    """Where there are classes to name, what is judged is whether the source names them."""
    classes = f"{unnamed} class{'' if unnamed == 1 else 'es'} that nobody labelled"
    if judged.helps:
        return f"The source names {classes}: {_shares(names)}, when classes are hidden on purpose."
    start = "The source does not help to name" if judged.helps is False else "Can't tell whether the source names"
    return f"{start} {classes}: {_shares(names)}, when classes are hidden on purpose."


def without_tests(tested: int, naming: Setting | None, found: Geometry | None) -> str:
    """Where too few rows are labelled to test anything: signs, and what they are not."""
    signs = []
    if naming is not None and naming.names is not None:
        signs.append(f"of hidden classes, {_shares(naming.names)}")
    if found is not None:
        how = f"correlation {found.correlation:.2f} (p = {found.p_value:.3f})"
        signs.append(f"classes lie to each other as in the source with {how}")
    few = f"Can't tell: {tested} labelled rows are left for testing with 1 label per class, too few for an interval"
    return "; ".join([few, *signs, *(["signs, no proof"] if signs else [])]) + "."
