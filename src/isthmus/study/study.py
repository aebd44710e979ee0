"""A study of systems on the same rows in a few lines: :meth:`Study.of`, :meth:`Study.run`, and a board."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Self

from isthmus._core.validation import check_choice, check_number
from isthmus.data.datasets import DomainPair
from isthmus.data.splits import Protocol
from isthmus.exceptions import InputError
from isthmus.study.board import Board
from isthmus.study.design import SETTINGS, Design, Entrant, Figure
from isthmus.study.records import Record, RecordStore
from isthmus.study.run import RunPlan, run_plan
from isthmus.study.trial_rows import Loader, PairRows


class Study(Design):
    """Systems and controls on the same rows, trial by trial: a design that can be run.

    Examples
    --------
    >>> from isthmus.data.datasets import load_toy
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
        """Return a study of some systems on a pair of domains, or on several.

        Parameters
        ----------
        data : DomainPair, callable, or mapping of str to either
            A pair in memory; or a function that loads one for a seed, called as ``data(random_state=seed)``; or
            several of them by name.
        systems : iterable of str or Entrant
            Names of :func:`isthmus.systems`, or entrants with estimators of your own.
        protocol : Protocol, optional
            How each trial splits the target rows of known class (test rows of the pair among them); target rows of
            unknown class are unlabelled in every trial. None: pairs are taken as they are, with their own test rows.
            A seed of a pair in memory then only moves the systems, and one such pair can't show a difference.
        source_transformer, target_transformer : scikit-learn transformer, optional
            Prepare the features, fitted in every trial without its test rows.
        figures : mapping of str to callable, optional
            Numbers that are recorded in addition to accuracy, such as :data:`isthmus.study.design.RETRIEVAL`.
        name : str
            The stem of the file of records.
        """
        pairs = data if isinstance(data, Mapping) else {"": data}
        rows = PairRows(pairs, protocol, source_transformer, target_transformer)
        entrants = tuple(
            Entrant.of(each) for each in _check_several(systems, "systems", "names or entrants in a list")
        )
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
        """Run every trial that has no records yet, and return the board of the first variant.

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
            Where records are kept, trial by trial, so that a run that was stopped can be resumed. Records there of
            another version, other systems or other rows are set aside and run again. None: in memory only.
        progress : bool or function
            Whether to show a bar with the time left; or a function that is called with (trials done, trials in all).
        """
        every = _check_several(seeds, "seeds", "whole numbers, such as range(20)")
        draws = tuple(int(check_number(seed, "seeds", low=0, whole=True)) for seed in every)
        if not draws or len(set(draws)) < len(draws):
            raise InputError(f"seeds: expected at least one and none twice, got {draws}.")
        if check_number(n_jobs, "n_jobs", low=-1, whole=True) == 0:
            raise InputError("n_jobs: expected at least 1, or -1 for all cores, got 0.")
        chosen = _check_names(variants or tuple(self.variants), "variants", self.variants)
        plan = RunPlan(self, chosen, _check_names(settings, "settings", SETTINGS), draws)
        store = None if folder is None else RecordStore(folder, self.name)
        records = run_plan(plan, store, n_jobs=n_jobs, progress=progress)
        return self.board(records, draws, chosen[0])

    def board(self, records: Iterable[Record], seeds: Sequence[int], variant: str | None = None) -> Board:
        """Return the board of records; of the first variant unless another is named."""
        return Board(self, records, next(iter(self.variants)) if variant is None else variant, seeds)


def _check_several(values: Any, name: str, wanted: str) -> tuple[Any, ...]:
    """Return values as a tuple; a text is refused, because each of its letters would be taken for a name."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name}: expected {wanted}, got {values!r:.60}.")
    return tuple(values)


def _check_names(values: Any, name: str, known: Collection[str]) -> tuple[str, ...]:
    return tuple(check_choice(word, name, known) for word in _check_several(values, name, "names in a tuple"))
