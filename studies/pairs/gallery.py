"""A page that shows a matching at work: package descriptions in two languages, and nothing known of who is who.

``python -m studies.pairs.gallery --out docs/gallery.md``
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from isthmus import match
from isthmus._core.files import write_text
from isthmus._core.validation import IntArray, Matrix
from isthmus.tasks.matching.result import Matching
from studies.datasets import read_debian_texts
from studies.pairs.data import shared_columns

ROWS, SEED, SHOWN = 1000, 100, 8
LANGUAGES = {"fr": "French", "de": "German"}
SECTIONS = ("fr", 1.0), ("de", 1.0), ("fr", 0.5)
"""The other language, and the share of the texts that have a translation."""


class Collections:
    """English texts and those of another language, in an order of their own, each with its own vocabulary."""

    def __init__(self, language: str, share: float, folder: Path | None) -> None:
        rng = np.random.default_rng(SEED)
        english, other = read_debian_texts(folder), read_debian_texts(folder, language)
        text = dict(zip(english.packages, english.texts, strict=True))
        translated = dict(zip(other.packages, other.texts, strict=True))
        packages = rng.permutation(sorted(set(text) & set(translated)))
        n = min(ROWS, int(len(packages) / (2.0 - share)))
        partners = int(n * share)
        self.language = language
        self.left = packages[:n]
        self.right = rng.permutation(np.concatenate([packages[:partners], packages[n : 2 * n - partners]]))
        self.texts = [text[p] for p in self.left], [translated[p] for p in self.right]
        models = [TfidfVectorizer(sublinear_tf=True, min_df=2) for _ in self.texts]
        self.rows: list[Matrix] = [m.fit_transform(t) for m, t in zip(models, self.texts, strict=True)]
        self.columns = [m.get_feature_names_out() for m in models]
        place = {package: k for k, package in enumerate(self.right)}
        self.truth: IntArray = np.array([place.get(package, -1) for package in self.left])

    def right_share(self, found: IntArray) -> float:
        """The share of the rows with a partner whose partner was found."""
        partnered = self.truth >= 0
        return float(np.mean(found[partnered] == self.truth[partnered]))

    def by_shared_words(self) -> float:
        """The same by words that both languages have, such as names: a control that learns nothing."""
        left, right = shared_columns(tuple(self.columns[0]), tuple(self.columns[1])).T
        S = (self.rows[0][:, left] @ self.rows[1][:, right].T).toarray()
        return self.right_share(S.argmax(axis=1))


def page(folder: Path | None = None) -> str:
    """The whole page."""
    drawn = [Collections(language, share, folder) for language, share in SECTIONS]
    found = [match(*given.rows) for given in drawn]
    parts = [
        "# Gallery: who is whose translation?",
        _summarize(drawn, found),
        textwrap.fill(
            "Descriptions of Debian packages in English and in another language, every text on its own: not one "
            "pair is known, and no dictionary is used. Each language has its own vocabulary (tf-idf of its own "
            "words). isthmus.match is given two tables with different columns, and finds the partners from how texts "
            "are alike within each language. This page is made by `python -m studies.pairs.gallery`, on one draw.",
            118,
        ),
    ]
    for given, matching, (_, share) in zip(drawn, found, SECTIONS, strict=True):
        parts.append(_section(given, matching, share))
    return "\n\n".join(parts) + "\n"


SUMMARY = """\
## Summary

**Question.** Can translations be found without a dictionary, a known pair or a common column, from how similar the \
texts of each language are to each other?

**Answer.** The right partner is found for {recall} of the texts with a partner, and \
{precision} of the returned matches are right ({names}). Words that both languages share (mostly names) find \
{baseline} without any learning.

**Limits.** One draw of one collection of texts; both sides are descriptions of the same kind and share many names. \
Texts that differ in one word only (the same dictionary for another language) are the typical errors, and some of \
them have a high probability.

**What to do.** Compare with the baseline of shared words first; `isthmus match` prints it. Look at matches of \
near-identical texts yourself.\
"""


def _summarize(drawn: Sequence[Collections], found: Sequence[Matching]) -> str:
    """The summary for practitioners."""
    pairs = list(zip(drawn, found, strict=True))
    return SUMMARY.format(
        recall=_join_shares(given.right_share(each.partners) for given, each in pairs),
        precision=_join_shares(_precision(given, each) for given, each in pairs),
        baseline=_join_shares(given.by_shared_words() for given in drawn),
        names=", ".join(f"{LANGUAGES[name]}{'' if share == 1.0 else f' with {share:.0%} translated'}"
                        for name, share in SECTIONS),
    )  # fmt: skip


def _join_shares(shares: Iterable[float]) -> str:
    return ", ".join(f"{share:.0%}" for share in shares)


def _section(given: Collections, found: Matching, share: float) -> str:
    n, name = len(given.left), LANGUAGES[given.language]
    title = f"## English and {name}, {n} texts each" + ("" if share == 1.0 else f", {share:.0%} with a translation")
    words = (
        f"The right partner was found for {given.right_share(found.partners):.1%} of the texts that have one; of the "
        f"{len(found)} matches returned, {_precision(given, found):.1%} are right. By the words that both languages "
        f"share (names, mostly), without learning, {given.by_shared_words():.1%} would be found."
    )
    sure = np.argsort(-found.confidence, kind="stable")
    wrong = [k for k in sure if given.truth[found.pairs[k, 0]] != found.pairs[k, 1]]
    step = max(1, len(found) // SHOWN)
    blocks = [title, "```text\n" + textwrap.fill(str(found), 110) + "\n```", textwrap.fill(words, 118)]
    if len(found):
        blocks.append(
            _table("Some of the matches, from sure to less sure:", given, found, list(sure[::step][:SHOWN]))
        )
    if wrong:
        blocks.append(_table("The surest of the wrong ones:", given, found, wrong[:3]))
    return "\n\n".join(blocks)


def _precision(given: Collections, found: Matching) -> float:
    return float(np.mean(given.truth[found.pairs[:, 0]] == found.pairs[:, 1])) if len(found) else 0.0


def _table(title: str, given: Collections, found: Matching, which: list[int]) -> str:
    lines = [title, "", f"| confidence | English | {LANGUAGES[given.language]} |", "|---|---|---|"]
    for k in which:
        i, j = found.pairs[k]
        lines.append(f"| {found.confidence[k]:.2f} | {_first(given.texts[0][i])} | {_first(given.texts[1][j])} |")
    return "\n".join(lines)


def _first(text: str) -> str:
    """The title of a description, fit for a cell."""
    return textwrap.shorten(text.split(". ")[0].replace("|", "/"), 70, placeholder=" …")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the page's file")
    parser.add_argument("--data", type=Path, help="the data folder (default: $ISTHMUS_DATA)")
    options = parser.parse_args()
    write_text(options.out, page(options.data))


if __name__ == "__main__":
    main()
