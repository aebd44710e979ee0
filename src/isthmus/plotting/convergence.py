"""How a solver came to its result: the certified gap, iteration by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.exceptions import InputError
from isthmus.plotting.canvas import INK, OKABE_ITO, given_or_new, plain
from isthmus.solvers import Result

FEW = 60
"""Up to so many iterations each has a dot of its own."""


def plot_convergence(result: Any, ax: Any = None) -> Any:
    """Draw how far each iterate was proven to be from the optimum, and how far the result is.

    The curve is the relative duality gap of the iterates, on a logarithmic scale; the dashed line is the
    tolerance. The star is the certificate: the gap of the matrix that was handed over, computed from the data.
    Several results may be drawn into the same axes.

    Parameters
    ----------
    result : Result or fitted estimator
        ``estimator.result_``, or the estimator that has it.
    ax : matplotlib Axes, optional
        Where; a new figure unless given.

    Returns
    -------
    matplotlib Axes
    """
    found = getattr(result, "result_", result)
    if not isinstance(found, Result) and hasattr(found, "common_space_"):
        got = "one without: a model file keeps none, and neither do systems that are solved at once"
        raise InputError(f"result: expected a model with the trace of its fit, got {got}.")
    if not isinstance(found, Result):
        raise InputError(
            f"result: expected a Result, or a fitted estimator with result_, got {type(result).__name__}."
        )
    ax = plain(given_or_new(ax, 6.4, 4.4))
    gaps = np.array([point.relative_gap for point in found.trace])
    steps = np.array([point.iteration for point in found.trace])
    shown = np.isfinite(gaps) & (gaps > 0.0)  # no iterate has to have a bound, and the last may have no gap at all
    first = not ax.lines
    colour = OKABE_ITO[len(ax.lines) % len(OKABE_ITO)]
    label = f"{found.solver}: {found.status.value}, {found.n_iter} iterations"
    dots = "o" if shown.sum() <= FEW else None
    ax.plot(steps[shown], gaps[shown], marker=dots, ms=4, color=colour, label=label)
    if np.isfinite(found.relative_gap) and found.relative_gap > 0.0:
        ax.plot(steps[-1], found.relative_gap, marker="*", ms=15, color=colour, mec=INK, mew=0.8, ls="none")
    if first:
        ax.axhline(
            found.tolerance, color=INK, linestyle="--", linewidth=1.0, label=f"tolerance: {found.tolerance:.0e}"
        )
    ax.set(yscale="log", xlabel="iteration", ylabel="certified gap, relative to the objective")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False)
    return ax
