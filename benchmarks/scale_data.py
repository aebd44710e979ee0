"""Rows for the study of scale: class-structured, anisotropic, of unit length; or real digits, blown up."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isthmus._core.rows import ArrayRows
from isthmus.solvers.blocks.problem import BlockProblem
from isthmus.solvers.logdet import LogDetProblem, MeanAlignment, Pairs

D, N_LABELLED, N_UNLABELLED, N_CLASSES = 256, 60, 300, 6
DRAWN_AT_ONCE = 16_384
NOISE = 0.3
"""Of blown-up rows, in standard deviations of each column."""

Array = NDArray[np.floating]


@dataclass(frozen=True)
class Rows:
    """A source with codes, labelled target rows with codes, and the mean and variance of either domain."""

    X: Array
    y: NDArray[np.integer]
    target: Array
    y_target: NDArray[np.integer]
    mean: Array
    target_mean: Array
    spread: float

    def problem(self, weight: float | str) -> BlockProblem:
        """The problem of MLHD with its automatic bounds, λ1 = 1, and λ2 of a pair; "auto" shares 10,000."""
        return BlockProblem(ArrayRows(self.X, self.y), self.target, *self._tables(weight), self._alignment)

    def written_out(self, weight: float | str) -> LogDetProblem:
        """The same, with a number for every pair."""
        n, m = len(self.X), len(self.target)
        rows = np.zeros((n + m, self.X.shape[1] + self.target.shape[1]))
        rows[:n, : self.X.shape[1]], rows[n:, self.X.shape[1] :] = self.X, self.target
        sign, weights, bound = (table[self.y] for table in self._tables(weight))
        return LogDetProblem(rows, (Pairs(slice(0, n), slice(n, n + m), sign, weights, bound),), self._alignment)

    @property
    def _alignment(self) -> MeanAlignment:
        return MeanAlignment(np.concatenate([self.mean, -self.target_mean]), 1.0)

    def _tables(self, weight: float | str) -> tuple[Array, Array, Array]:
        sign = np.where(np.arange(self.y.max() + 1)[:, None] == self.y_target, 1.0, -1.0)
        each = 1e4 / (len(self.X) * len(self.target)) if weight == "auto" else float(weight)
        return sign, np.full(sign.shape, each), np.where(sign > 0.0, 0.5, 1.5) * self.spread


def synthetic(n: int, seed: int, n_labelled: int = N_LABELLED) -> Rows:
    """Gaussian classes with a decaying spectrum, turned and stretched a little per class; rows of unit length."""
    source, target = _domain(1), _domain(2)
    y, X = _draw_rows(source, np.random.default_rng(100 + seed), n)
    balanced = np.arange(n_labelled) % N_CLASSES
    _, Y = _draw_rows(target, np.random.default_rng(200 + seed), n_labelled + N_UNLABELLED, balanced)
    return _rows(X, y, Y, balanced)


def blown_up(n: int, seed: int) -> Rows:
    """The digits of mfeat, profile correlations to pixel averages: rows drawn again and again, with noise."""
    with np.load(Path(os.environ["ISTHMUS_DATA"]) / "mfeat" / "mfeat.npz", allow_pickle=False) as data:
        source, target, y = data["fac216"], data["pix240"], data["y"] - data["y"].min()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    first, second = order[: len(y) // 2], order[len(y) // 2 :]
    source, target = _standardise(source), _standardise(target)
    X, picked = np.empty((n, source.shape[1]), dtype=np.float32), rng.choice(first, n)
    for start in range(0, n, DRAWN_AT_ONCE):
        part = picked[start : start + DRAWN_AT_ONCE]
        noise = NOISE * rng.standard_normal((len(part), X.shape[1]), dtype=np.float32)
        X[start : start + len(part)] = _unit(source[part] + noise)
    return _rows(X, y[picked], _unit(target[second]), y[second][:N_LABELLED])


def _rows(X: Array, y: NDArray[np.integer], Y: Array, y_target: NDArray[np.integer]) -> Rows:
    mean, target_mean = X.mean(axis=0, dtype=np.float64), Y.mean(axis=0, dtype=np.float64)
    # All rows have length one: the variance is what the mean leaves of that.
    spread = 2.0 - float(mean @ mean) - float(target_mean @ target_mean)
    return Rows(X, y.astype(np.int16), Y[: len(y_target)], y_target, mean, target_mean, spread)


def _domain(seed: int) -> tuple[Array, list[Array]]:
    """Class means, and a matrix per class that takes normal rows to its covariance."""
    rng = np.random.default_rng(seed)
    scale = np.arange(1, D + 1.0) ** -0.7
    scale *= np.sqrt(2.0 / (scale**2).sum())
    common = np.linalg.qr(rng.standard_normal((D, D)))[0]
    means = np.zeros((N_CLASSES, D))
    means[:, :20] = 0.6 * rng.standard_normal((N_CLASSES, 20)) * scale[:20]
    means = means @ common.T + 0.7 * rng.standard_normal(D) / np.sqrt(D)
    maps = []
    for _ in range(N_CLASSES):
        turn = np.linalg.qr(common + 0.15 * rng.standard_normal((D, D)) / np.sqrt(D))[0]
        maps.append((scale * np.exp(0.1 * rng.standard_normal(D)))[:, None] * turn.T)
    return means.astype(np.float32), [matrix.astype(np.float32) for matrix in maps]


def _draw_rows(
    domain: tuple[Array, list[Array]], rng: np.random.Generator, n: int, first: NDArray[np.integer] | None = None
) -> tuple[NDArray[np.integer], Array]:
    """N rows, the first of which have given classes."""
    means, maps = domain
    y = rng.integers(N_CLASSES, size=n)
    if first is not None:
        y[: len(first)] = first
    X = np.empty((n, D), dtype=np.float32)
    for start in range(0, n, DRAWN_AT_ONCE):
        codes, block = y[start : start + DRAWN_AT_ONCE], X[start : start + DRAWN_AT_ONCE]
        normal = rng.standard_normal(block.shape, dtype=np.float32)
        for c in range(N_CLASSES):
            chosen = np.flatnonzero(codes == c)
            block[chosen] = _unit(normal[chosen] @ maps[c] + means[c])
    return y, X


def _standardise(X: Array) -> Array:
    deviation = X.std(axis=0, dtype=np.float64)
    return ((X - X.mean(axis=0, dtype=np.float64)) / np.where(deviation > 0.0, deviation, 1.0)).astype(np.float32)


def _unit(X: Array) -> Array:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True), dtype=np.float32)
