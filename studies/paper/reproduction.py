"""One experiment of the paper from beginning to end: run what is missing, then make tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isthmus._validation import choice
from isthmus.exceptions import InputError
from isthmus.experiments.artefacts import Artefacts, sensitivity_artefacts, table_artefacts, toy_artefacts
from isthmus.experiments.claims import READINGS
from isthmus.experiments.experiment import EXPERIMENTS, Experiment
from isthmus.experiments.plan import Plan, carried_out
from isthmus.experiments.progress import Progress
from isthmus.experiments.records import Results

SENSITIVITY, ALL = "sensitivity", "all"
NAMES = (*EXPERIMENTS, SENSITIVITY, ALL)
SINGLE = NAMES[:-1]
EVERYTHING = ("toy", "table1", "table2", SENSITIVITY)
"""What "all" means: whatever the data that are described in the documents allow."""
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
        Results, tables and figures.
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
    """

    folder: Path | None = None
    out: Path = Path("results")
    sets: tuple[tuple[int, ...], ...] = (tuple(range(10)),)
    oracle: bool = False
    variants: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    jobs: int = 1


def reproduce(name: str, request: Request, progress: bool = False) -> Artefacts:
    """Run what is missing of an experiment and return its tables and figures.

    Parameters
    ----------
    name : {"toy", "table1", "table2", "sensitivity"}
        The experiment. The last one is the grid of "table1", and shares its records.
    request : Request
        What to run, and where.
    progress : bool
        Whether to show on standard error how many trials are done, and how long the others will take.
    """
    experiment = _narrowed(EXPERIMENTS["table1" if name == SENSITIVITY else choice(name, "name", SINGLE)], request)
    variants = tuple(v for v in experiment.variants if request.variants is None or v in request.variants)
    run = variants if request.variants is not None else experiment.run_variants or experiment.variants
    results = Results(request.out, experiment.name)
    for plan in _plans(name, experiment, run or experiment.variants, request):
        with Progress(name) as bar:
            show = bar if progress else None
            carried_out(plan, results, request.folder, jobs=request.jobs, progress=show)
    made = artefacts(name, experiment, variants or experiment.variants, request)
    whole = request.groups is None and variants == experiment.variants
    return made if whole or name == "toy" else made.renamed(PART)


def artefacts(name: str, experiment: Experiment, variants: Sequence[str], request: Request) -> Artefacts:
    """Tables and figures out of the records that are there."""
    records = list(Results(request.out, experiment.name).read().values())
    if name == "toy":
        return toy_artefacts(experiment, records, request.sets)
    there = [variant for variant in variants if any(record.variant == variant for record in records)]
    make = sensitivity_artefacts if name == SENSITIVITY else table_artefacts
    return make(experiment, records, there, request.sets)


def _plans(name: str, experiment: Experiment, variants: tuple[str, ...], request: Request) -> list[Plan]:
    """What has to be there: the default settings of every set of seeds, the grids of the first."""
    searched = tuple(variant for variant in variants if variant in experiment.searched_variants)
    if name == SENSITIVITY and not searched:
        raise InputError(f"variants: expected {', '.join(experiment.searched_variants)}, got {', '.join(variants)}.")
    if name == SENSITIVITY:
        return [Plan(experiment, searched, SEARCHED, seeds, READINGS) for seeds in request.sets]
    plans = [Plan(experiment, variants, ("default",), seeds) for seeds in request.sets]
    if request.oracle and name != "toy":
        plans.append(Plan(experiment, searched, SEARCHED, request.sets[0][: experiment.searched_seeds]))
    return plans


def has_groups(name: str, request: Request) -> bool:
    """Whether an experiment has a group that was asked for; the toy problem has none to choose from."""
    groups = {" → ".join(group) for group in EXPERIMENTS["table1" if name == SENSITIVITY else name].groups}
    return request.groups is None or not groups.isdisjoint(request.groups)


def _narrowed(experiment: Experiment, request: Request) -> Experiment:
    """The same experiment with some of its groups."""
    names = [" → ".join(group) for group in experiment.groups]
    if request.groups is None or experiment.name == "toy":
        return experiment
    every = {" → ".join(group) for each in EXPERIMENTS.values() for group in each.groups}
    unknown = [group for group in request.groups if group not in every]
    if unknown or not set(names) & set(request.groups):
        raise InputError(f"groups: expected some of {', '.join(names)}, got {(unknown or request.groups)[0]!r}.")
    kept = [k for k, name in enumerate(names) if name in request.groups]
    return replace(
        experiment,
        groups=tuple(experiment.groups[k] for k in kept),
        published=tuple(experiment.published[k] for k in kept),
    )
