"""The result of an alignment, and :func:`align`, which makes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from isthmus._core.progress import Progress, WorkCounter
from isthmus._core.threads import cap_threads
from isthmus._core.validation import (
    FloatArray,
    IntArray,
    as_generator,
    as_labels,
    check_choice,
    check_length,
    encode,
    find_classes,
    is_unlabelled,
    short_repr,
)
from isthmus.exceptions import InputError
from isthmus.tasks.alignment.engine import search_plans
from isthmus.tasks.alignment.evidence import SAME, AlignmentEvidence, judge, write_sentence
from isthmus.tasks.alignment.problem import CORRELATION, METRICS, NAMES, AlignmentProblem


@short_repr
@dataclass(frozen=True, eq=False)
class Coupling:
    """How much mass each row of A shares with each row of B, as a product U P Vᵀ of three factors.

    Parameters
    ----------
    left, right : CSR (n, s), (m, t)
        U and V: how the mass of each sampled row is spread over the rows of A, and of B. Where all rows are in the
        sample, they only put these into order.
    plan : array (s, t)
        P: the plan between the sampled rows, of total one.
    """

    left: Any
    plan: FloatArray
    right: Any

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows (n, m)."""
        return self.left.shape[0], self.right.shape[0]

    @property
    def T(self) -> Coupling:
        """The coupling of B and A."""
        return Coupling(self.right, self.plan.T, self.left)

    def table(self) -> FloatArray:
        """Return the mass of every pair (n, m)."""
        return np.asarray(self.left @ (self.right @ self.plan.T).T)

    def average(self, Y: Any) -> FloatArray:
        """Return, for each row of A, the mean (n, k) of values Y (m, k) of the rows of B, weighted by its mass."""
        # From the right, so that no table of all pairs is made.
        total = self.left @ (self.plan @ self.right.sum(axis=0)[:, None])
        return np.asarray(self.left @ (self.plan @ (self.right.T @ Y)) / total)


@short_repr
@dataclass(frozen=True, eq=False)
class TransferredLabels:
    """Names (m,) of rows, and the probabilities (m, C) of all classes (C,)."""

    names: NDArray[Any]
    probabilities: FloatArray
    classes: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Alignment:
    """A soft correspondence of the rows of A and B, with the verdict on it and its evidence.

    An :class:`~isthmus.evidence.answer.Answer`. It is for the rows that it was made of: there is no map for others.

    Parameters
    ----------
    coupling : Coupling
        The mass that each row of A shares with each row of B.
    A, B : array (n, d), (m, d')
        The rows as they were compared: of unit length, unless ``metric="euclidean"``.
    ok : bool or None
        True: the distances determine one alignment; None: it is ambiguous; False: they have no shape in common. That
        both collections are about the same kinds of objects is assumed, and can't be seen in distances.
    sentence : str
        The verdict with the figures that it rests on; what ``str`` returns.
    evidence : AlignmentEvidence
        These figures.
    """

    coupling: Coupling
    A: FloatArray
    B: FloatArray
    ok: bool | None
    sentence: str
    evidence: AlignmentEvidence

    def embed(self, side: str = "A") -> FloatArray:
        """Return the rows of A in the space of B (n, d'), or with "B" those of B in the space of A (m, d).

        A row is at the barycentre of the rows that it shares mass with.
        """
        ahead = check_choice(side, "side", NAMES) == NAMES[0]
        return self.coupling.average(self.B) if ahead else self.coupling.T.average(self.A)

    @cached_property
    def nearest(self) -> IntArray:
        """The row of B that is nearest to each embedded row of A (n,)."""
        search = NearestNeighbors(n_neighbors=1).fit(self.B)
        return np.asarray(search.kneighbors(self.embed(), return_distance=False)[:, 0], dtype=np.intp)

    def transfer_labels(self, y_source: Any) -> TransferredLabels:
        """Name the rows of B by the classes (n,) of the rows of A that they share mass with.

        Rows of A without a label (-1, None or NaN) are ignored; a row of B that shares mass with no other is of every
        class alike.
        """
        labels = as_labels(y_source, "y_source")
        check_length(labels, len(self.A), "y_source", NAMES[0])
        known = labels[~is_unlabelled(labels)]
        if not len(known):
            raise InputError(f"y_source: expected at least one labelled row, got none among {len(labels)}.")
        classes = find_classes(known, "y_source")
        shares = self.coupling.T.average(encode(labels, classes, "y_source")[:, None] == np.arange(len(classes)))
        totals = shares.sum(axis=1, keepdims=True)
        uniform = np.full_like(shares, 1.0 / len(classes))
        P = np.divide(shares, totals, out=uniform, where=totals > 0.0)
        return TransferredLabels(classes[P.argmax(axis=1)], P, classes)

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        n, m = self.coupling.shape
        return f"<Alignment of {n} and {m} rows: ok={self.ok}>"


@cap_threads
def align(A: Any, B: Any, *, metric: str = CORRELATION, random_state: Any = 0, progress: Any = False) -> Alignment:
    r"""Align two collections softly, without any known pair or label.

    Rows are to lie to each other as their partners do: an entropic Gromov–Wasserstein plan between distances in
    graphs of nearest neighbours and Euclidean ones. Its problem has many local minima; the best of several searches
    is taken, and compared with the others. Where one that leads elsewhere is about as good, the alignment is
    **ambiguous** (``ok`` is None), and what it returns may be wrong altogether.

    For dense rows of few dimensions (say, 5 to 50 principal components) in clusters or along curves. To find rows
    that are the same object, use :func:`isthmus.match`; with a few labels of B, :class:`isthmus.LabelTransfer`.

    Parameters
    ----------
    A : array, sparse matrix or data frame (n, d)
        Rows of one collection, at least 20.
    B : array, sparse matrix or data frame (m, d')
        Rows of the other, at least 20, with other columns.
    metric : {"correlation", "euclidean"}
        How rows of one collection are compared. "correlation": rows are scaled to unit length, columns are not, and
        neighbours are those of highest correlation. "euclidean": rows as they are; for two or three columns, and
        wherever the length of a row matters.
    random_state : int, Generator, RandomState or None
        The source of random numbers; the same number gives the same alignment.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with (what is done, rounds so far).

    Returns
    -------
    Alignment
        ``ok``, ``coupling``, ``embed``, ``nearest``, ``transfer_labels``; ``str`` returns the verdict.

    Notes
    -----
    The order of the rows changes nothing, and exchanging A and B transposes the coupling. Of more than 1,200 rows a
    sample is aligned, and all others follow their five nearest sampled rows: time grows with n, memory too.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import align
    >>> from isthmus.evidence import foscttm
    >>> rng = np.random.default_rng(0)
    >>> t = rng.beta(1.0, 2.5, size=(150, 1))  # where on a curve each row is: more at one end
    >>> A, B = (np.cos(3.0 * t * np.linspace(0.2, 1.0, d) + rng.uniform(0.0, 6.0, size=d)) for d in (8, 12))
    >>> found = align(A, B, metric="euclidean")
    >>> found.ok, bool(foscttm(found.embed(), found.B) < 0.05)
    (True, True)
    """
    check_choice(metric, "metric", METRICS)
    rng, reports = as_generator(random_state), Progress(progress, "align")
    problem = AlignmentProblem.of(A, B, metric, rng)
    with reports:
        plans, searches = search_plans(problem, rng, WorkCounter(reports))
    compared = [plans[0].compare(plan) for plan in plans[1:]]
    rivals = tuple(rival for rival in compared if rival.distance > SAME)
    first, second = problem.first, problem.second
    coupling = Coupling(first.spread_sample(), plans[0].mass.astype(np.float64), second.spread_sample())
    sizes = coupling.plan.shape
    if problem.swapped:
        first, second, coupling, sizes = second, first, coupling.T, sizes[::-1]
    evidence = AlignmentEvidence(plans[0].value, rivals, tuple(searches), (sizes[0], sizes[1]))
    ok = judge(evidence)
    sentence = write_sentence(evidence, ok, coupling.shape)
    return Alignment(coupling, first.rows, second.rows, ok, sentence, evidence)
