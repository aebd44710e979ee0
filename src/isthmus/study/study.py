"""A study that can be run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from isthmus._validation import choice, number
from isthmus.datasets import DomainPair
from isthmus.evaluation import Protocol
from isthmus.exceptions import InputError
from isthmus.study.design import Design
from isthmus.study.entrants import SETTINGS, Entrant, Figure
from isthmus.study.plan import Plan, carry_out
from isthmus.study.records import InFolder, Record
from isthmus.study.rows import Loader, PairRows
from isthmus.study.tables import Board


class Study(Design):
    """Systems and controls on the same rows, trial by trial: :meth:`of` asks, :meth:`run` answers.

    Examples
    --------
    >>> from isthmus.datasets import load_toy
    >>> board = Study.of(load_toy, ["mlhd", "target 1-NN"]).run(seeds=range(6))
    >>> print(board.claim("mlhd", "target 1-NN"))
    mlhd > target 1-NN: holds, +... [..., ...], p = .031
    """

    @classmethod
    def of(
        cls,
        data: DomainPair | Loader | Mapping[str, DomainPair | Loader],
        systems: Iterable[str | Entrant],
        *,
        protocol: Protocol | None = None,
        source_transformer: Any = None,
        target_transformer: Any = None,
        figures: Mapping[str, Figure] | None = None,
        name: str = "study",
    ) -> Self:
        """A study of some systems on a pair of domains, or on several.

        Parameters
        ----------
        data : DomainPair, callable, or mapping of str to either
            A pair in memory; or what gives one for a seed, called as ``data(random_state=seed)``; or several by name.
        systems : iterable of str or Entrant
            Names of :func:`isthmus.systems`, or entrants with estimators of your own.
        protocol : Protocol, optional
            How each trial splits the target rows of known class (test rows of the pair among them); target rows of
            unknown class are unlabelled in every trial. None: pairs are taken as they are, with their own test rows.
            A seed of a pair in memory then only moves the systems, and one such pair can't show a difference.
        source_transformer, target_transformer : scikit-learn transformer, optional
            Prepare the features, fitted in every trial without its test rows.
        figures : mapping of str to callable, optional
            What is recorded beside accuracy, such as :data:`isthmus.study.RETRIEVAL`.
        name : str
            The stem of the file of records.
        """
        pairs = data if isinstance(data, Mapping) else {"": data}
        rows = PairRows(pairs, protocol, source_transformer, target_transformer)
        entrants = tuple(Entrant.of(each) for each in _several(systems, "systems", "names or entrants in a list"))
        words = data.name if isinstance(data, DomainPair) else "", "" if protocol is None else str(protocol)
        return cls(name, rows, entrants, *words, tuple(pairs), figures=figures or {}, redrawn=rows.redrawn)

    def run(
        self,
        seeds: Iterable[int] = range(20),
        *,
        settings: Sequence[str] = ("default",),
        variants: Sequence[str] | None = None,
        n_jobs: int = 1,
        folder: str | os.PathLike[str] | None = None,
        progress: Any = False,
    ) -> Board:
        """Run every trial that is not there yet; the board is of the first variant.

        Parameters
        ----------
        seeds : iterable of int
            One trial each, in every group.
        settings : sequence of {"default", "oracle", "selected"}
            How parameters are chosen, of entrants that have a grid.
        variants : sequence of str, optional
            Preparations of the features; None: all.
        n_jobs : int
            Trials side by side, in processes that end with this one; -1: one for each core.
        folder : path, optional
            Where records are kept, trial by trial: a run that was stopped goes on from there. Records that another
            version, other systems or other rows have left there are set aside and run again. None: in memory only.
        progress : bool or function
            Whether to show a bar with the time left; or a function that is called with (trials done, trials in all).
        """
        every = _several(seeds, "seeds", "whole numbers, such as range(20)")
        draws = tuple(int(number(seed, "seeds", low=0, whole=True)) for seed in every)
        if not draws or len(set(draws)) < len(draws):
            raise InputError(f"seeds: expected at least one and none twice, got {draws}.")
        if number(n_jobs, "n_jobs", low=-1, whole=True) == 0:
            raise InputError("n_jobs: expected at least 1, or -1 for all cores, got 0.")
        words = {"settings": (settings, SETTINGS), "variants": (variants or tuple(self.variants), self.variants)}
        asked, chosen = (
            tuple(choice(word, name, known) for word in _several(given, name, "names in a tuple"))
            for name, (given, known) in words.items()
        )
        results = None if folder is None else InFolder(folder, self.name)
        records = carry_out(Plan(self, chosen, asked, draws), results, n_jobs=n_jobs, progress=progress)
        return self.board(records, draws, chosen[0])

    def board(self, records: Iterable[Record], seeds: Sequence[int], variant: str | None = None) -> Board:
        """Records as a board; of the first variant unless another is named."""
        return Board(self, records, next(iter(self.variants)) if variant is None else variant, seeds)


def _several(values: Any, name: str, wanted: str) -> tuple[Any, ...]:
    """What was given one by one: of a text, each letter would be taken for a name."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}: expected {wanted}, got {values!r:.60}.")
    return tuple(values)
