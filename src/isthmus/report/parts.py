"""What a page is made of: chapters of sections, and these of text, figures and clouds of points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from isthmus.report.cloud import Cloud
from isthmus.report.figures import Figure
from isthmus.report.html import Markup

Part = Markup | Figure | Cloud


@dataclass(frozen=True)
class Section:
    """A heading and what is below it."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Chapter:
    """What is told of one file.

    Parameters
    ----------
    kind : str
        What the file is, in a word or two.
    file : str
        Its name.
    sentence : str
        What matters most.
    sections : tuple of Section
        All the rest.
    """

    kind: str
    file: str
    sentence: str
    sections: tuple[Section, ...]

    def without_empty(self) -> Chapter:
        """The same without sections that have no parts."""
        return replace(self, sections=tuple(section for section in self.sections if section.parts))


def section(title: str, parts: Sequence[Part | None]) -> Section:
    """A section of the parts that there are."""
    return Section(title, tuple(part for part in parts if part is not None))
