"""The figures of the experiments, drawn from their records."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from isthmus.exceptions import DataWarning
from isthmus.study.board import HOLDS, REVERSED, Claim
from isthmus.view.plots import principal_plane
from studies.datasets.toy import load_toy
from studies.paper.comparisons import COMPARISONS, ORDER, TARGET_ONLY, WHERE_FLAT
from studies.paper.drawing import Panel, plot_differences, plot_heat_map, plot_table, plot_toy
from studies.paper.entrants import PAPER
from studies.paper.experiment import PaperBoard
from studies.paper.rows import VARIANTS
from studies.paper.tables import published_means


def toy_figure(board: PaperBoard) -> Any:
    """The data and every system's common space for the first seed; the numbers are means over all seeds."""
    toy, seed = load_toy(board.seeds[0]), board.seeds[0]
    source = {"source_labels": toy.y_source}
    target = {"target_labels": toy.y_target, "target_classes": toy.target_classes}
    panels = [
        Panel("source: the plane", source=toy.X_source, **source, caption="40 labelled rows per class"),
        Panel("target: space", target=toy.X_target, **target, caption="2 labelled, 40 unlabelled per class"),
    ]
    for entrant in board.design.entrants:
        if not entrant.control:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # that the domains lie far apart is what it is about
                model = entrant.configure_model({}, seed).fit(toy.X_source, toy.y_source, toy.X_target, toy.y_target)
            S, T, _ = principal_plane(model.transform(toy.X_source, "source"), model.transform(toy.X_target))
            caption = toy_caption(board, entrant.name)
            panels.append(Panel(entrant.name, source=S, target=T, **source, **target, caption=caption))
    alone = ", ".join(
        f"{name.removeprefix('target ')} {100 * board.scores(name).mean():.1f} %".replace(" ", "\N{NO-BREAK SPACE}")
        for name in board.design.controls
    )
    title = f"Toy problem, seed {seed}; accuracy and MMD² over {len(board.seeds)} seeds. Without a source: {alone}"
    return plot_toy(panels, title=title)


def toy_caption(board: PaperBoard, system: str) -> str:
    """What stands under a panel: MMD² in the common space and accuracy, means over the seeds."""
    return f"MMD² {board.figures(system, 'mmd').mean():.2f}\naccuracy {100 * board.scores(system).mean():.1f} %"


def table_figure(board: PaperBoard) -> Any:
    """The paper's systems against its own numbers, and MLHD beside its controls."""
    corrupted = [name for name in board.design.controls if name.startswith(f"{PAPER[-1]}, ")]
    names = [*PAPER, *TARGET_ONLY, *corrupted]
    ours = 100 * np.stack([board.scores(name) for name in names], axis=2)
    paper = np.full((len(board.groups), len(names)), np.nan)
    paper[:, : len(PAPER)] = published_means(board.design.published)
    return plot_table(
        board.groups,
        names,
        ours.mean(axis=1),
        ours.std(axis=1, ddof=1) if ours.shape[1] > 1 else None,
        paper,
        range(len(PAPER), len(names)),
        title=f"{board.design.title}; {VARIANTS[board.variant]}; default settings",
        focus=len(PAPER) - 1,
    )


def difference_figure(board: PaperBoard, claims: list[Claim]) -> Any:
    """Every comparison with its interval."""
    run = [(k, claim.statement, claim.difference) for k, claim in enumerate(claims) if claim.difference is not None]
    shown = [claim.verdict in (HOLDS, REVERSED) for claim in claims if claim.difference is not None]
    numbers = np.array([(d.mean, d.low, d.high) for _, _, d in run])
    heads = [_name_question(*COMPARISONS[k]) for k, _, _ in run]
    return plot_differences(
        [statement.replace(" > ", " − ") for _, statement, _ in run],
        *(100 * numbers).T,
        groups=heads,
        decided=shown,
        title=f"{board.design.title.split(',')[0]}: paired differences with 95 % intervals of each alone; "
        f"colour: p < 5 % within its question. Seeds {board.seeds[0]} to {board.seeds[-1]}; "
        f"{VARIANTS[board.variant]}",
    )


def _name_question(system: str, other: str) -> str:
    """The question that a comparison belongs to."""
    if other in TARGET_ONLY:
        return f"{system} against the target alone"
    if other.startswith(f"{system}, "):
        return f"{system} against a corrupted source"
    if (system, other) in WHERE_FLAT:
        return "where accuracy is flat in λ2"
    return "the paper's order" + ("" if (system, other) in ORDER else ", rows called by the nearest class mean")


def heat_map(board: PaperBoard, system: str) -> Any:
    """Accuracy over the paper's grid of λ1 and λ2, mean over all groups and seeds."""
    grid = board.design.entrant(system).grid
    (first, rows), (second, columns) = grid.items()
    default = board.design.entrant(system).new_model().get_params()
    outlined = (
        (rows.index(default[first]), columns.index(default[second]))
        if default[first] in rows and default[second] in columns
        else None
    )
    return plot_heat_map(
        100 * board.grid(system).mean(axis=(0, 1)),
        rows,
        columns,
        row_name="λ1, weight of the priors",
        column_name="λ2, weight of the posteriors",
        title=f"{board.design.title.split(',')[0]}: {system}; {VARIANTS[board.variant]}",
        default=outlined,
    )
