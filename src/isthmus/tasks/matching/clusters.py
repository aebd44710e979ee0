r"""Clusters of rows that are the same object: between two tables, many to many, and within one (:func:`dedupe`).

1. **Links.** Between two tables, a match is a link if its probability is at least one half, and so is another
   candidate if its log-odds are at least the median of the matches. Within one table there may be several duplicates
   of a row, so what a row would have without its partner says nothing: there, the log-odds of the best candidate of
   each row are a mixture of two normal distributions, of rows with a duplicate and of rows without. Weights are
   fitted to the probabilities of the mixture, and so on.
2. **Clusters** by average linkage: two clusters join while the mean log-odds between their rows is that of a link. A
   pair that was no candidate counts as the least likely candidate; two rows of the same table, in a matching of two,
   count neither for nor against.
3. **Conflicts** of transitivity are told: pairs in one cluster that are no link themselves, and links that were cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import average, fcluster
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.mixture import GaussianMixture

from isthmus._core.validation import BoolArray, FloatArray, IntArray, as_generator, check_choice, check_number
from isthmus.data.shared_columns import SharedColumns
from isthmus.exceptions import InputError
from isthmus.tasks.matching.fields import Agreement, TableComparer
from isthmus.tasks.matching.fusion import likeness
from isthmus.tasks.matching.linkage import (
    LEAST_PROBABILITY,
    PENALTY,
    ROUNDS,
    SETTLED,
    TIE,
    CandidateGraph,
    FieldDesign,
)
from isthmus.tasks.matching.result import KEEP, Matching

NOTHING = np.zeros((0, 2), np.intp)
# Duplicates have to be this many times as frequent as in a table whose words were dealt to its cells at random.
TIMES_CHANCE = 3.0
# Deviations between the means of two kinds of rows, from which on duplicates are sure, and doubtful. In tables
# without duplicates whose rows come in series, the means were up to 3.6 apart; in tables with copies, 4.4 or more.
CLEARLY_APART, APART = 4.0, 2.0
# The percentile of the log-odds of matches from which on another candidate is a link, too.
CLEAR = 50.0
# Where a larger share of the rows than this looks like another, too few others are left to be apart from.
MOST = 0.5
# With fewer rows there are too few candidates to tell two kinds of them apart.
FEWEST_ROWS = 20


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of rows; of two tables, those of B follow those of A.

    Parameters
    ----------
    labels : array (n,)
        The number of the cluster of each row.
    representative : array (k,)
        The row of each cluster that is most like the others.
    pairs, probability : array (p, 2), array (p,)
        The linked pairs of rows, i < j, and the probability of each on its own.
    doubtful, cut : array (q, 2)
        Conflicts: pairs in one cluster that are no link themselves; links between rows of different clusters.
    """

    labels: IntArray
    representative: IntArray
    pairs: IntArray
    probability: FloatArray
    doubtful: IntArray
    cut: IntArray
    ok: bool | None = True
    sentence: str = ""
    evidence: dict[str, float] = field(default_factory=dict)

    @property
    def sizes(self) -> IntArray:
        """The number of rows (k,) of each cluster."""
        return np.bincount(self.labels)

    def __str__(self) -> str:
        return self.sentence


def find_clusters(found: Matching) -> Clusters:
    """Return the clusters of a matching by shared columns: many to many, whatever the matching was.

    Row j of B is number n + j. Known pairs are links; where nothing matched, no row is linked.
    """
    if found.linkage is None:
        raise InputError("find_clusters: expected a matching by shared columns, got one by geometry alone.")
    linked, (n, m) = found.linkage, found.shape
    probability, sure = np.zeros(len(linked.agreement)), linked.matches[linked.accepted]
    if len(sure):
        clear = linked.log_odds[linked.free] >= np.percentile(linked.log_odds[sure], CLEAR)
        probability[linked.free[clear]] = LEAST_PROBABILITY
    probability[linked.matches] = linked.probability
    known = linked.agreement.find(found.pairs[found.confidence == 1.0])
    probability[known[known >= 0]] = 1.0
    cells = np.column_stack([linked.agreement.i, linked.agreement.j + n])
    said = "{several:,} clusters of {rows:,} rows of both tables"
    clusters = _cluster(cells, linked.log_odds, probability * (found.ok is True), np.arange(n + m) >= n, said)
    return replace(clusters, ok=found.ok)


def dedupe(table: Any, *, not_pairs: Any = None, keep: str = "sure", random_state: Any = 0) -> Clusters:
    """Find the rows of one table that are the same object.

    The table is compared with itself, field by field, and weights are learned without labels, as by
    :func:`isthmus.match`. The result is an answer: ``ok`` is False where rows with a very similar other row are no
    kind of their own, None where that is doubtful. Then no clusters are returned, unless ``keep="all"``.

    Parameters
    ----------
    table : data frame or SharedColumns
        At least 20 rows; leave out columns that only number them.
    not_pairs : array (q, 2), optional
        Rows that are known to be different objects.
    keep : {"sure", "all"}
        Whether to return doubtful clusters too.
    random_state : int, Generator, RandomState or None
        For the control.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> names = [" ".join("".join(rng.choice(list("abcdefgh"), 7)) for _ in range(3)) for _ in range(60)]
    >>> found = dedupe(pd.DataFrame({"name": [*names, names[3][1:], names[3] + "x", names[40][:-2]]}))
    >>> [np.flatnonzero(found.labels == k).tolist() for k in np.flatnonzero(found.sizes > 1)]
    [[3, 60, 61], [40, 62]]
    """
    check_choice(keep, "keep", KEEP)
    columns = table if isinstance(table, SharedColumns) else SharedColumns.of(table, table)
    n = int(check_number(columns.n_source, "table, rows", low=FEWEST_ROWS, whole=True))
    comparer = TableComparer.of(columns)
    agreement, scores, probability, best, apart = _link_rows(comparer, not_pairs)
    best = best[probability[best] >= LEAST_PROBABILITY]
    share, chance = len(best) / n, 0.0
    if len(best):
        control = TableComparer.of(columns.shuffle_words(as_generator(random_state)))
        dealt = control.compare(_list_candidates(control))
        level = np.median(likeness(agreement)[best])
        chance = len(np.unique(dealt.i[likeness(dealt) >= level])) / n
    more = share > TIMES_CHANCE * chance and (apart >= APART or share > MOST)
    ok = more if not more or apart >= CLEARLY_APART else None
    none = {
        False: f"no duplicates: rows and their best candidates are of one kind ({apart:.1f} deviations apart).",
        None: f"doubtful: {len(best):,} of {n:,} rows look like another, but rows of a series may be as much alike "
        f"({apart:.1f} deviations apart); look at some.",
    }
    kept = ok is True or (keep == "all" and more)
    cells, said = np.column_stack([agreement.i, agreement.j]), f"{{several:,}} clusters of {{rows:,}} of {n:,} rows"
    found = _cluster(cells, scores, probability * kept, np.zeros(n, dtype=bool), said)
    evidence = {"share": share, "chance": chance, "apart": apart}
    return replace(found, ok=ok, sentence=none.get(ok, found.sentence), evidence=evidence)


def _list_candidates(comparer: TableComparer) -> IntArray:
    """Return the cells of candidates of a table with itself, both ways, without each row itself."""
    n = comparer.shape[0]
    i, j = np.divmod(comparer.candidates(), n)
    both = np.unique(np.concatenate([i * n + j, j * n + i]))
    return np.asarray(both[both // n != both % n])


def _link_rows(comparer: TableComparer, not_pairs: Any) -> tuple[Agreement, FloatArray, FloatArray, IntArray, float]:
    """Learn the weights of fields from the rows of one table.

    Returns candidates, their scores and probabilities, the places of the best of each row, and by how many deviations
    the two kinds of rows are apart.
    """
    n, agreement = comparer.shape[0], comparer.compare(_list_candidates(comparer))
    wrong = np.asarray([] if not_pairs is None else not_pairs, dtype=np.int64).reshape(-1, 2)
    forbidden = np.isin(agreement.cells, np.concatenate([wrong, wrong[:, ::-1]]) @ np.array([n, 1]))
    free, design = np.flatnonzero(~forbidden), FieldDesign.of(agreement)
    weights: FloatArray = np.zeros(design.width)
    zero: FloatArray = np.zeros(design.width)
    graph = CandidateGraph(agreement.i[free], agreement.j[free], agreement.shape)
    scores, labels = likeness(agreement), np.zeros(len(agreement))
    for _ in range(ROUNDS):
        before = labels
        probability, apart = _split_scores(scores, graph.find_matches(scores[free], False), free)
        labels = np.where(forbidden, 0.0, probability)
        if np.abs(labels - before).sum() <= SETTLED * labels.sum():
            break
        weights = design.fit(labels, np.ones(len(labels), bool), PENALTY, zero, weights)
        scores = design.apply(weights)
    return agreement, scores, labels, free[graph.find_matches(scores[free], False)], apart


def _split_scores(scores: FloatArray, best: IntArray, free: IntArray) -> tuple[FloatArray, float]:
    """Return the probability of each candidate to be a duplicate, by a mixture of the best scores of rows."""
    own = scores[free[best]]
    mixture = GaussianMixture(2, means_init=np.quantile(own, [[0.25], [0.95]]), reg_covar=1e-4, random_state=0)
    mixture.fit(own[:, None])
    low, high = np.argsort(mixture.means_[:, 0])
    grid = np.linspace(own.min(), own.max(), 1000)
    curve = mixture.predict_proba(grid[:, None])[:, high]
    # More alike is never less likely: below the lower mean nothing is, above it the curve rises.
    curve = np.maximum.accumulate(np.where(grid < mixture.means_[low, 0], 0.0, curve))
    deviation = np.sqrt(mixture.covariances_[:, 0, 0].mean())
    apart = float(mixture.means_[high, 0] - mixture.means_[low, 0]) / max(float(deviation), 1e-9)
    return np.interp(scores, grid, curve), apart


def _cluster(cells: IntArray, log_odds: FloatArray, probability: FloatArray, sides: BoolArray, said: str) -> Clusters:
    """Return the clusters of rows by candidate pairs (p, 2): across ``sides`` (n,), or of one table where all are."""
    n, linked, across = len(sides), probability >= LEAST_PROBABILITY, bool(sides.any())
    least = float(log_odds[linked].min()) if linked.any() else 0.0
    # Log-odds above that of the weakest link; 0 stands for a pair that was no candidate.
    odds = np.where(linked, np.maximum(log_odds - least, 0.0) + TIE, np.minimum(log_odds - least, -TIE))
    S = coo_array((odds, cells.T), shape=(n, n)).tocsr()
    S = S + S.T if across else 0.5 * (S + S.T)
    upper = linked & (cells[:, 0] < cells[:, 1])
    pairs = cells[upper]
    _, part = connected_components(coo_array((upper[upper], pairs.T), shape=(n, n)), directed=False)
    labels, doubtful, best = np.arange(n), [NOTHING], {}
    for rows in (np.flatnonzero(part == p) for p in np.flatnonzero(np.bincount(part) > 1)):
        M = S[rows][:, rows].toarray()
        M = np.where(M == 0.0, odds.min(), M)
        if across:
            M[sides[rows][:, None] == sides[rows]] = 0.0
        np.fill_diagonal(M, 0.0)
        tree = average(squareform(M.max() - M, checks=False))
        groups = fcluster(tree, M.max(), "distance")
        for group in (np.flatnonzero(groups == g) for g in np.unique(groups)):
            inside = M[np.ix_(group, group)]
            labels[rows[group]] = rows[group[0]]
            best[int(rows[group[0]])] = int(rows[group[inside.sum(axis=1).argmax()]])
            doubtful.append(rows[group][np.argwhere(np.triu(inside < 0.0))])
    names, numbers = np.unique(labels, return_inverse=True)
    sizes = np.bincount(numbers)
    sentence = said.format(several=int((sizes > 1).sum()), rows=int(sizes[sizes > 1].sum()))
    cut = pairs[numbers[pairs[:, 0]] != numbers[pairs[:, 1]]]
    inner = np.concatenate(doubtful)
    sentence += f"; {len(inner):,} pairs in them are no link, {len(cut):,} links are between them."
    representative = np.array([best.get(name, name) for name in names.tolist()])
    return Clusters(numbers, representative, pairs, probability[upper], inner, cut, True, sentence)
