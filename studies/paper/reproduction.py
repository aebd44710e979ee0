"""One experiment of the paper from beginning to end: run what is missing, or take what is there, then render."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isthmus._core.validation import check_choice
from isthmus.exceptions import DataWarning, InputError
from isthmus.study.records import Record, RecordStore
from isthmus.study.study import RunPlan, run_plan
from studies.paper.artefacts import Artefacts, sensitivity_artefacts, table_artefacts, toy_artefacts
from studies.paper.comparisons import READINGS
from studies.paper.experiment import EXPERIMENTS, Experiment
from studies.paper.page import GRIDS, PAGE, RELEASED

SENSITIVITY, ALL = "sensitivity", "all"
NAMES = (*EXPERIMENTS, SENSITIVITY, ALL)
SINGLE = NAMES[:-1]
EVERYTHING = ("toy", "table1", "table2")
"""What "all" means: whatever the data that are described in the documents allow; with grids, their figure too."""
SEARCHED = ("oracle", "selected")
PART = "-part"
"""The ending of files about some groups or variants only: they do not overwrite those about all."""


@dataclass(frozen=True)
class Request:
    """What to run, and where.

    Parameters
    ----------
    folder : Path, optional
        The data; None: the environment variable or the user's cache.
    out : Path
        Records, tables and figures. Never ``results/`` by default: those are committed.
    sets : tuple of tuple of int
        Sets of seeds: tables are of the first, verdicts of each.
    oracle : bool
        Whether grids are searched too, for the settings "oracle" and "selected", where and as often as the experiment
        says.
    variants : tuple of str, optional
        Preparations of the features; None: those that the experiment runs by itself.
    groups : tuple of str, optional
        Such as "EN → FR"; None: all.
    jobs : int
        Trials side by side.
    records : Path, optional
        A folder of records to render: then nothing is run.
    """

    folder: Path | None = None
    out: Path = Path("reproduced")
    sets: tuple[tuple[int, ...], ...] = (tuple(range(10)),)
    oracle: bool = False
    variants: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    jobs: int = 1
    records: Path | None = None


def reproduce(name: str, request: Request, progress: bool = False) -> Artefacts:
    """Run what is missing of an experiment, unless only to render, and return its tables and figures.

    Parameters
    ----------
    name : {"toy", "table1", "table2", "sensitivity"}
        The experiment. The last one is the grid of "table1", and shares its records.
    request : Request
        What to run, and where.
    progress : bool
        Whether to show on standard error how many trials are done, and how long the others will take.
    """
    experiment = _select_groups(_experiment(name), request).at(request.folder)
    variants = tuple(v for v in experiment.variants if request.variants is None or v in request.variants)
    if request.records is None:
        run = variants if request.variants is not None else experiment.run_variants or variants
        for plan in _plans(name, experiment, run or tuple(experiment.variants), request):
            with warnings.catch_warnings():
                if name == "toy":  # its domains lie apart, and far from the origin, on purpose: that is no news
                    warnings.simplefilter("ignore", DataWarning)
                results = RecordStore(request.out, experiment.name)
                run_plan(plan, results, n_jobs=request.jobs, progress=progress)
    made = artefacts(name, experiment, variants or tuple(experiment.variants), request)
    whole = request.groups is None and variants == tuple(experiment.variants)
    return made if whole or name == "toy" else made.rename(PART)


def records_of(name: str, request: Request) -> list[Record]:
    """The records of an experiment, of this request or to render."""
    return list(RecordStore(request.records or request.out, name).read().values())


def page_records(request: Request) -> dict[str, list[Record]]:
    """Return the records of the page: those of each experiment, and grids that were searched apart from it."""
    named = {name: records_of(name, request) for name in (*PAGE, RELEASED)}
    return named | {GRIDS: records_of(SENSITIVITY, request)}


def artefacts(name: str, experiment: Experiment, variants: Sequence[str], request: Request) -> Artefacts:
    """Tables and figures out of the records that are there."""
    records = records_of(experiment.name, request)
    if name == SENSITIVITY and not any(record.grid for record in records):
        records = records_of(SENSITIVITY, request)
    if request.records is not None and not records:
        raise InputError(f"{request.records}: expected records of {experiment.name} (*.jsonl), got none.")
    if name == "toy":
        return toy_artefacts(experiment, records, request.sets)
    there = [variant for variant in variants if any(record.variant == variant for record in records)]
    make = sensitivity_artefacts if name == SENSITIVITY else table_artefacts
    return make(experiment, records, there, request.sets)


def select_experiments(name: str, request: Request) -> tuple[str, ...]:
    """The experiments to run; of "all", those that have one of the requested groups."""
    if name != ALL:
        return (check_choice(name, "name", SINGLE),)
    groups, every = request.groups, EVERYTHING + ((SENSITIVITY,) if request.oracle else ())
    if request.records is not None:  # there is nothing to render of what has not been run
        every += () if request.oracle or not records_of(SENSITIVITY, request) else (SENSITIVITY,)
        every = tuple(each for each in every if records_of(_experiment(each).name, request)) or every
    some = [each for each in every if groups is None or not set(_experiment(each).groups).isdisjoint(groups)]
    return tuple(some) or every


def _experiment(name: str) -> Experiment:
    return EXPERIMENTS["table1" if name == SENSITIVITY else check_choice(name, "name", SINGLE)]


def _plans(name: str, experiment: Experiment, variants: tuple[str, ...], request: Request) -> Iterator[RunPlan]:
    """What has to be there: the default settings of every set of seeds, the grids of the first."""
    searched = tuple(variant for variant in variants if variant in experiment.searched_variants)
    if name == SENSITIVITY and not searched:
        raise InputError(f"variants: expected {', '.join(experiment.searched_variants)}, got {', '.join(variants)}.")
    for seeds in request.sets:
        if name == SENSITIVITY:
            yield RunPlan(replace(experiment, entrants=(experiment.entrant(READINGS[0]),)), searched, SEARCHED, seeds)
        else:
            yield RunPlan(experiment, variants, ("default",), seeds)
    if request.oracle and name not in ("toy", SENSITIVITY):
        yield RunPlan(experiment, searched, SEARCHED, request.sets[0][: experiment.searched_seeds])


def _select_groups(experiment: Experiment, request: Request) -> Experiment:
    """The same experiment with some of its groups; the toy problem has none to choose from."""
    if request.groups is None or experiment.name == "toy":
        return experiment
    every = {group for each in EXPERIMENTS.values() for group in each.groups}
    unknown = [group for group in request.groups if group not in every]
    return experiment.select_groups(unknown or request.groups)
