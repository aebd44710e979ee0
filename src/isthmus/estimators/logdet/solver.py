"""The parameter ``solver``: a word with a tolerance and a limit, or an object that brings its own."""

from __future__ import annotations

from typing import Any

from isthmus._validation import choice
from isthmus.exceptions import InputError
from isthmus.solvers import BregmanProjections, DualNewton, Solver

SOLVERS = {"newton": DualNewton, "bregman": BregmanProjections}


def as_solver(solver: Any, tol: Any, max_iter: Any) -> Solver:
    """The solver that the three parameters mean."""
    if isinstance(solver, str):
        made: Solver = SOLVERS[choice(solver, "solver", SOLVERS)](tol=tol, max_iter=max_iter)
        return made
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise InputError(f'solver: expected "newton", "bregman" or an object with solve(), got {solver!r}.')
    given: Solver = solver
    return given
