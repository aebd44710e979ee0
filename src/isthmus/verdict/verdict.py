"""The verdict: a value with one sentence, the numbers behind it, a table and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from isthmus._validation import short_repr
from isthmus.exceptions import InputError
from isthmus.study import Table
from isthmus.verdict.differences import Estimate, points
from isthmus.verdict.evidence import Geometry
from isthmus.verdict.settings import Names

WORDS = {True: "helps", False: "does not help", None: "can't tell"}
LARGEST, MOST = 1e9, 10_000
"""The largest number, and the most comparisons or points of a curve, that a stored verdict may hold."""


class Row(NamedTuple):
    """One comparison: in a setting, the system with the source against something else, all as shares."""

    setting: str
    """Labels per class, or "naming": half of the classes hidden."""
    against: str
    """What the system is compared with; "" for the system itself."""
    accuracy: float
    """Of what it is compared with."""
    difference: float | None
    """The system's accuracy less that; None where there is nothing to compare."""
    low: float | None
    high: float | None
    """The interval of 95 %; None for single target-only rules, of which the best is judged."""


class CurvePoint(NamedTuple):
    """With so many labels per class: accuracy with the source, without it, and their difference, as shares."""

    labels: int
    with_source: float
    without: float
    difference: float
    low: float
    high: float


@short_repr
@dataclass(frozen=True)
class Verdict:
    """Whether a source helps.

    Parameters
    ----------
    helps : bool or None
        True, False, or None for "can't tell".
    difference : float or None
        What the source is worth, as a share of the tested rows: the system's accuracy less that of the best rule
        that never sees the source. None where there was nothing to test.
    interval : (float, float) or None
        The interval of 95 % of that.
    sentence : str
        All of it in one sentence.
    rows : tuple of Row
        Every comparison that was made.
    curve : tuple of CurvePoint
        Labels per class, with and without the source.
    system : str
        The system that was tried.
    n_splits, n_tested : int
        How often labels were hidden, and how many different rows were tested.
    names : Names or None
        How well hidden classes were named.
    geometry : Geometry or None
        The evidence that needs no test: whether classes lie to each other alike in both domains.
    """

    helps: bool | None
    difference: float | None
    interval: tuple[float, float] | None
    sentence: str
    rows: tuple[Row, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    system: str = ""
    n_splits: int = 0
    n_tested: int = 0
    names: Names | None = None
    geometry: Geometry | None = None

    def __str__(self) -> str:
        return self.sentence

    @property
    def table(self) -> Table:
        """Every comparison: accuracy in per cent, and in points what the system with the source is better."""
        cells = tuple((row.against or self.system, _setting(row), *_cells(row)) for row in self.rows)
        notes = (
            f"Accuracy in per cent, differences in points, {self.n_splits} splits, {self.n_tested} tested rows. "
            "Intervals of 95 %, for splits that share rows.",
        )
        return Table(self.sentence, ("", "labels per class", "accuracy", "better by", "95 %"), cells, notes)

    def plot(self) -> Any:
        """The curve over labels per class and the comparisons that decide, as a matplotlib figure."""
        from isthmus.plotting.verdict import plot_verdict

        return plot_verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain types, for JSON."""
        names, geometry = self.names, self.geometry
        return {
            "helps": self.helps,
            "verdict": WORDS[self.helps],
            "difference": self.difference,
            "interval": None if self.interval is None else list(self.interval),
            "sentence": self.sentence,
            "system": self.system,
            "n_splits": self.n_splits,
            "n_tested": self.n_tested,
            "rows": [row._asdict() for row in self.rows],
            "curve": [point._asdict() for point in self.curve],
            "names": None if names is None else {
                "right": names.right.mean, "low": names.right.low, "high": names.right.high,
                "spoilt": names.spoilt, "classes": names.classes,
            },
            "geometry": None if geometry is None else {
                "correlation": geometry.correlation, "p_value": geometry.p_value,
            },
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Verdict:
        """Return the verdict that :meth:`to_dict` turned into ``values``; every part is checked.

        Examples
        --------
        >>> verdict = Verdict(True, 0.1, (0.05, 0.15), "The source helps.")
        >>> Verdict.from_dict(verdict.to_dict()) == verdict
        True
        """
        helps, names, geometry, ends = (values.get(key) for key in ("helps", "names", "geometry", "interval"))
        low, high = (None, None) if ends is None else _check_numbers(ends, 0, 1)
        curve = [_check_numbers(point, *CurvePoint._fields) for point in _check_list(values, "curve")]
        naming = None
        if names is not None:
            *right, spoilt, classes = _check_numbers(names, "right", "low", "high", "spoilt", "classes")
            naming = Names(Estimate(*right), spoilt, int(classes))
        return cls(
            None if helps is None else bool(helps),
            _check_optional(values, "difference"),
            None if low is None or high is None else (low, high),
            _check_text(values, "sentence"),
            tuple(
                Row(
                    _check_text(row, "setting"),
                    _check_text(row, "against"),
                    *_check_numbers(row, "accuracy"),
                    *(_check_optional(row, key) for key in ("difference", "low", "high")),
                )
                for row in _check_list(values, "rows")
            ),
            tuple(CurvePoint(int(labels), *shares) for labels, *shares in curve),
            _check_text({"system": "", **values}, "system"),
            int(_check_optional(values, "n_splits") or 0),
            int(_check_optional(values, "n_tested") or 0),
            naming,
            None if geometry is None else Geometry(*_check_numbers(geometry, "correlation", "p_value")),
        )


def _check_text(values: Any, name: str) -> str:
    value = values.get(name) if isinstance(values, Mapping) else None
    if not isinstance(value, str):
        raise InputError(f"{name}: expected a text, got {type(value).__name__}.")
    return value


def _check_list(values: Mapping[str, Any], name: str) -> list[Any]:
    value = values.get(name, [])
    if not isinstance(value, list) or len(value) > MOST:
        raise InputError(f"{name}: expected a list of at most {MOST:,} items, got {type(value).__name__}.")
    return value


def _check_numbers(values: Any, *keys: str | int) -> list[float]:
    """Return the numbers of a stored object, or of a stored list, by their names or places."""
    found = []
    for key in keys:
        try:
            value = values[key]
        except (LookupError, TypeError):
            value = None
        # A whole number of any length compares with a float, and NaN does not pass.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
            raise InputError(f"{key}: expected a number, got {ascii(value)[:40]}.")
        found.append(float(value))
    return found


def _check_optional(values: Mapping[str, Any], name: str) -> float | None:
    return None if values.get(name) is None else _check_numbers(values, name)[0]


def _setting(row: Row) -> str:
    return "half hidden" if row.setting == "naming" else row.setting


def _cells(row: Row) -> tuple[str, str, str]:
    gain = "" if row.difference is None else points(row.difference)
    span = "" if row.low is None or row.high is None else f"[{points(row.low)}, {points(row.high)}]"
    return f"{100 * row.accuracy:.1f}", gain, span
