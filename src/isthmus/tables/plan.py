"""What each column of a table is, and why: chosen from the cells, shown, and open to correction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from isthmus._validation import choice, number
from isthmus.exceptions import InputError
from isthmus.storage.files import shown
from isthmus.tables.table import Table

KINDS = {
    "id": "names the row",
    "label": "the class of the row",
    "number": "a number, scaled",
    "date": "a date, as a number of days, scaled",
    "category": "one of a few words, one column of 0 and 1 for each",
    "text": "words, weighted by tf-idf",
    "matrix": "many numbers",
    "left out": "not used",
}
SETTINGS = {"number": ("scale",), "date": ("scale",), "matrix": ("scale",), "text": ("components", "terms")}
"""What may be set for columns of a kind."""
FEATURES = ("number", "date", "category", "text", "matrix")
MOST_COMPONENTS, MOST_TERMS = 10_000, 1_000_000


@dataclass(frozen=True)
class Column:
    """What one column is.

    Parameters
    ----------
    name : str
        Of the column.
    kind : str
        One of ``id``, ``label``, ``number``, ``date``, ``category``, ``text``, ``matrix``, ``left out``.
    why : str
        What speaks for it.
    scale : bool
        Numbers, dates, matrices: whether each column is brought to mean 0 and standard deviation 1.
    components : int
        Text: how many axes of a truncated singular value decomposition; 0 keeps the words, as a sparse matrix.
    terms : int
        Text: how many words at most, the most frequent ones.

    Examples
    --------
    >>> print(Column("title", "text", "4 words per cell"))
    title: text; 4 words per cell
    """

    name: str
    kind: str
    why: str = ""
    scale: bool = True
    components: int = 0
    terms: int = 20_000

    def __post_init__(self) -> None:
        place = f"plan, column {shown(repr(self.name)[:60])}"
        for part, wanted in (("name", str), ("why", str), ("scale", bool)):
            if not isinstance(getattr(self, part), wanted):
                raise InputError(f"{place}, {part}: expected {wanted.__name__}, got {getattr(self, part)!r:.40}.")
        choice(self.kind, f"{place}, kind", KINDS)
        number(self.components, f"{place}, components", low=0, high=MOST_COMPONENTS, whole=True)
        number(self.terms, f"{place}, terms", low=1, high=MOST_TERMS, whole=True)
        allowed = SETTINGS.get(self.kind, ())
        for part in ("scale", "components", "terms"):
            if part not in allowed and getattr(self, part) != type(self).__dataclass_fields__[part].default:
                raise InputError(
                    f"{place}: expected no {part!r} for kind {self.kind!r}, got {getattr(self, part)!r}."
                )

    @property
    def settings(self) -> dict[str, Any]:
        """What is set, by name."""
        return {part: getattr(self, part) for part in SETTINGS.get(self.kind, ())}

    def __str__(self) -> str:
        axes = f" on {self.components} axes" if self.components else ""
        unscaled = ", as it is" if not self.scale else ""
        return f"{shown(self.name)}: {self.kind}{axes}{unscaled}" + f"; {shown(self.why)}" * bool(self.why)


@dataclass(frozen=True)
class Plan:
    """What every column of a table is.

    Parameters
    ----------
    columns : tuple of Column
        In the order of the table; at most one is the id, at most one the label, at least one a feature.

    Examples
    --------
    >>> table = Table.of({"age": [31, 4, 58], "job": ["cook", "cook", "nurse"], "kind": ["a", None, "b"]})
    >>> plan = Plan.of(table, label="kind")
    >>> [column.kind for column in plan.columns]
    ['number', 'category', 'label']
    >>> Plan.from_toml(plan.to_toml()) == plan
    True
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            repeated = next(name for i, name in enumerate(names) if name in names[:i])
            raise InputError(f"plan: expected each column once, got {shown(repr(repeated)[:60])} twice.")
        for kind in ("id", "label"):
            found = [column.name for column in self.columns if column.kind == kind]
            if len(found) > 1:
                got = " and ".join(shown(repr(name)[:60]) for name in found[:2])
                raise InputError(f"plan: expected at most one column of kind {kind!r}, got {got}.")
        if not self.features:
            raise InputError("plan: expected at least one column to learn from, got none: all are left out.")

    @classmethod
    def of(
        cls,
        table: Table,
        *,
        label: str | None = None,
        id: str | None = None,
        text: Iterable[str] = (),
        drop: Iterable[str] = (),
    ) -> Plan:
        """A plan for a table, chosen from its cells, with what the user says about some columns.

        Numbers are scaled; few different words become columns of 0 and 1; long or many different texts become tf-idf,
        which stays sparse where there is nothing else, and is cut to some axes beside other columns. Columns that are
        constant, empty, or look like an id are left out.
        """
        from isthmus.tables.choosing import chosen_columns  # which makes columns

        return cls(chosen_columns(table, label=label, id=id, text=text, drop=drop))

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns that are learned from."""
        return tuple(column for column in self.columns if column.kind in FEATURES)

    @property
    def label(self) -> str | None:
        """The name of the column of classes."""
        return self._one("label")

    @property
    def id(self) -> str | None:
        """The name of the column that names the rows."""
        return self._one("id")

    @property
    def is_text_only(self) -> bool:
        """Whether all features come from text, so that a typed text has them too."""
        return all(column.kind == "text" for column in self.features)

    def lines(self) -> list[str]:
        """What each column is, for the screen."""
        return [str(column) for column in self.columns]

    def to_toml(self, section: str = "") -> str:
        """The plan as a small TOML text to be corrected by hand; with a section, a part of one."""
        from isthmus.tables.toml import plan_text

        return plan_text(self, section)

    @classmethod
    def from_toml(cls, text: str, section: str = "") -> Plan:
        """The plan in a TOML text, or in a section of one; what is wrong there is told in one sentence."""
        from isthmus.tables.toml import plan_columns

        return cls(plan_columns(text, section))

    def _one(self, kind: str) -> str | None:
        return next((column.name for column in self.columns if column.kind == kind), None)
