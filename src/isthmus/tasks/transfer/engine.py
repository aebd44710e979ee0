"""The target's own ensemble where every class has a label: self-trained discriminants and balanced clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.special import softmax

from isthmus._core.validation import FloatArray
from isthmus.geometry.discriminants import balance
from isthmus.geometry.similarity import normalize_rows
from isthmus.tasks.transfer.evidence import geometry_against_renamings, naming_against_renamings
from isthmus.tasks.transfer.problem import TransferRows, extend_to_all, floor_shares, restrict_to_shared
from isthmus.tasks.transfer.rules import (
    ROUNDS,
    Discriminant,
    Guess,
    MappedScores,
    NearestMean,
    Probabilities,
    Rule,
    SubsetRule,
    TiedClasses,
    Vote,
    WeightedSum,
    agreement,
    class_means,
    guess_from_scores,
    identity_share,
    kappa,
    means_of_guesses,
    naming_z,
    polish_guesses,
    squared_distances,
)
from isthmus.tasks.transfer.soft_pairs import ALL_ROUNDS, SoftPairs, guess_by_soft_pairs
from isthmus.tasks.transfer.starts import (
    SignatureStart,
    cluster,
    correlate_shares,
    fit_paired_rule,
    guess_by_mlhd,
    guess_by_nearest,
    guess_by_relative_means,
    guess_by_signatures,
    guess_by_zero_shot,
    iterate_mlhd,
    iterate_procrustes,
    learn_shares,
    measure_separability,
    name_clusters,
    signature_scores,
    source_accuracy,
)

MULTIPLES = (2, 3, 5)
"""Axes per class on which the target's learners work; what they say is averaged."""
CLUSTER_ROUNDS = 15
SEED_WEIGHT = 3.0
"""The weight of a labelled row in the mean of its cluster."""
UNSURE, SLOPE = 0.5, 2.5
"""Clusters that are surer of themselves than the first have a say in the target's ensemble, by this slope."""
SHARPNESS = 2.0
"""Scores of unit deviation are multiplied by this, and read as logarithms."""


def fit_discriminants(
    rows: TransferRows, P: FloatArray | None = None, prior: FloatArray | float = 0.0, rounds: int = ROUNDS
) -> tuple[Discriminant, ...]:
    """Self-trained discriminants on several numbers of axes; from guesses P, or from the nearest labels."""
    starts = [guess_by_nearest(rows, multiple, prior).P if P is None else P for multiple in MULTIPLES]
    return tuple(
        polish_guesses(rows, start, multiple=multiple, rounds=rounds + 1, prior=prior)[1]
        for start, multiple in zip(starts, MULTIPLES, strict=True)
    )


def average_rules(members: tuple[Discriminant, ...]) -> Rule:
    """The mean of the members' probabilities, as scores."""
    n = len(members)
    return WeightedSum(tuple(map(Probabilities, members)), np.ones(n), np.full(n, 1.0 / n))


def fit_own_rule(rows: TransferRows, P: FloatArray | None = None, rounds: int = ROUNDS) -> Rule:
    """The mean of the probabilities of the target's own discriminants on several numbers of axes."""
    members = fit_discriminants(rows, P, rounds=rounds)
    return Vote(members, np.ones(len(members)))


def posterior(rule: Rule, rows: TransferRows) -> FloatArray:
    """Probabilities of the classes of all target rows (n_t, C); labelled ones keep their labels."""
    P = np.asarray(softmax(rule.scores(rows.target), axis=1))
    P[~rows.unlabelled] = rows.one_hot
    return P


def fit_cluster_means(rows: TransferRows, prior: FloatArray | float = 0.0) -> Rule:
    """Balanced k-means from the labelled means, on several numbers of axes."""
    found = []
    for multiple in MULTIPLES:
        view = rows.at(multiple)
        M = class_means(view.L, view.yl, rows.n_classes)
        for _ in range(CLUSTER_ROUNDS):
            P = guess_from_scores(-squared_distances(view.U, M), rows.shares, prior)
            M = means_of_guesses(view.L, rows.one_hot, view.U, P, SEED_WEIGHT)
        found.append(NearestMean(M))
    return WeightedSum.of(tuple(found), rows.target[rows.unlabelled])


def fit_target_only(rows: TransferRows, prior: FloatArray | float = 0.0) -> Rule:
    """Discriminants and clusters: the clusters count as far as they are sure of themselves."""
    clusters = fit_cluster_means(rows, prior)
    part = float(np.clip(SLOPE * (sureness(clusters, rows) - UNSURE), 0.0, 1.0))
    return combine(rows, (average_rules(fit_discriminants(rows, prior=prior)), clusters), (1.0 - part, part))


def sureness(rule: Rule, rows: TransferRows) -> float:
    r"""How far balanced guesses of the unlabelled rows are from even ones: :math:`(\bar p - 1/C) / (1 - 1/C)`.

    With :math:`\bar p` the mean probability of the best class; one for guesses that are certain.
    """
    best = float(guess(combine(rows, (rule,), (1.0,)), rows).max(axis=1).mean())
    return (rows.n_classes * best - 1.0) / max(rows.n_classes - 1, 1)


def combine_equally(rows: TransferRows, *members: Rule) -> Rule:
    """Rules whose scores are brought to one deviation on the unlabelled rows, and averaged."""
    return combine(rows, members, (1.0 / len(members),) * len(members))


def combine(rows: TransferRows, members: tuple[Rule, ...], parts: tuple[float, ...]) -> Rule:
    """Rules whose scores are brought to one deviation on the unlabelled rows, in these parts."""
    return WeightedSum.of(members, rows.target[rows.unlabelled], SHARPNESS * np.array(parts))


def guess(rule: Rule, rows: TransferRows, prior: FloatArray | float = 0.0, sharpness: float = 1.0) -> FloatArray:
    """Balanced guesses of the unlabelled rows (n_u, C) by a rule."""
    return balance(sharpness * rule.scores(rows.target[rows.unlabelled]) + prior, rows.shares)


Tell = Callable[[str, int], None]
"""Who is told what is being done, and how many steps are left, this one among them."""


def silent(what: str, left: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A rule for target rows, its parts, and whether the source had a say."""

    rule: Rule
    P: FloatArray
    """Guesses of the unlabelled target rows (n_u, C)."""
    again: Callable[[TransferRows], Rule]
    """The rule made again from fewer labelled rows; the guesses of the unlabelled ones stay."""
    evidence: dict[str, float] = field(default_factory=dict)
    """What the gates looked at, by name."""
    agreement: dict[str, float] = field(default_factory=dict)
    """The agreement r of the classes' geometry for each start."""
    weights: dict[str, float] = field(default_factory=dict)
    """The weight of each start; they sum to one."""
    source_used: bool = False
    reason: str = ""
    """Why, for the verdict: the end of a sentence."""
    shares: FloatArray | None = None
    """The shares of the classes, where a recipe has found better ones than were assumed."""


GEOMETRY = 0.5
"""Deviations above renamings from which the classes' geometry lets MLHD in."""


def transfer_with_few_labels(rows: TransferRows, rng: np.random.Generator, tell: Tell = silent) -> Outcome:
    """The target's ensemble; with row signatures as a prior, and with self-trained MLHD, where their gates open.

    - Signatures: the target's own guesses, which know nothing of them, must bear them out.
    - MLHD: signatures are let in, or the classes' geometry agrees better than under other names.
    - Both: discriminants of the source tell its own classes apart, and geometry and signatures, taken together, agree
      better with the target under the names that the classes have than under others.
    """
    tell("target alone", 4)
    own = fit_target_only(rows)
    P = guess(own, rows)
    alone = partial(Outcome, own, P, fit_target_only, weights={"target": 1.0})
    some, among = rows.among_shared(), restrict_to_shared(P, rows)
    tell("signatures", 3)
    signs = _fit_signatures(some, restrict_to_shared(guess(own, rows, sharpness=1.0 / SHARPNESS), rows))
    if not signs.source_learns:
        return alone(reason="its own rows do not tell its classes apart")
    z = geometry_against_renamings(some, among, rng)
    r = {"target": agreement(rows, P)}
    evidence = {"geometry": z, "signatures": signs.trust, "names": signs.names}
    if not signs.is_open and z <= GEOMETRY:
        reason = (
            "its classes lie to each other no more as the target's do than under other names "
            f"(z = {z:.1f}), and row signatures do not bear it out (trust {signs.trust:.2f})"
        )
        return alone(evidence=evidence, agreement=r, reason=reason)
    if z + signs.names <= 0.0:
        reason = (
            "the geometry of its classes and row signatures, taken together, agree with the target no better than "
            f"under other names (z = {z:.1f} and {signs.names:.1f})"
        )
        return alone(evidence=evidence, agreement=r, reason=reason)
    prior = _prior(signs, some, rows)
    taught = partial(_add_signatures, prior=prior, gate=signs.gate)
    base = taught(rows, own)
    tell("mlhd", 2)
    guesses = guess(base, rows, signs.gate * prior)
    found = iterate_mlhd(some, restrict_to_shared(guesses, rows), rng, signs.gate * prior[:, rows.shared])
    Q = extend_to_all(found, rows, P)
    r["mlhd"] = agreement(rows, Q)
    rule = _add_mlhd(rows, base, Q)
    weights = {"target": 0.5 - 0.25 * signs.gate, "signatures": 0.25 * signs.gate, "mlhd": 0.5}
    return Outcome(
        rule,
        guess(rule, rows),
        _retrain(taught, Q),
        evidence,
        r,
        {name: weight for name, weight in weights.items() if weight},
        True,
        _few_labels_reason(z, signs),
    )


def _few_labels_reason(z: float, signs: SignatureStart) -> str:
    parts = [f"its classes lie to each other as the target's do (z = {z:.1f})"] if z > GEOMETRY else []
    parts += [f"row signatures bear it out (trust {signs.trust:.2f})"] if signs.is_open else []
    return ", and ".join(parts)


def _retrain(taught: Callable[..., Rule], Q: FloatArray) -> Callable[[TransferRows], Rule]:
    return lambda fewer: _add_mlhd(fewer, taught(fewer, fit_target_only(fewer)), Q)


def _add_signatures(rows: TransferRows, own: Rule, *, prior: FloatArray, gate: float) -> Rule:
    """The target's ensemble taught with the prior; half-way, in equal parts with what it is without."""
    if gate == 0.0:
        return own
    taught = fit_target_only(rows, prior)
    return taught if gate == 1.0 else combine_equally(rows, taught, own)


def _add_mlhd(rows: TransferRows, base: Rule, Q: FloatArray) -> Rule:
    """A rule, and discriminants taught by MLHD's guesses Q (n_u, C), in equal parts."""
    return combine_equally(rows, base, average_rules(fit_discriminants(rows, Q, rounds=1)))


def _fit_signatures(some: TransferRows, guesses: FloatArray) -> SignatureStart:
    """With the target's own guesses of unlabelled rows (n_u, C'), and its labels."""
    assert some.prepared is not None
    known = np.zeros((len(some.yt), some.n_classes))
    known[~some.unlabelled], known[some.unlabelled] = some.one_hot, guesses
    return guess_by_signatures(some.prepared[0], some.ys, some.prepared[1], known, some.unlabelled)


def _prior(signs: SignatureStart, some: TransferRows, rows: TransferRows) -> FloatArray:
    """Over all classes (n_u, C); none for classes that the source lacks."""
    prior = np.zeros((int(rows.unlabelled.sum()), rows.n_classes))
    prior[:, rows.shared] = signs.prior[some.unlabelled]
    return prior


UNEQUAL = 2.0
"""Shares matter where the largest is more than so many times the smallest."""
ALIKE = 0.7
"""The least correlation of the source's shares with those that the target gives by itself."""
MAPPED = 2.0 / 3.0
"""The weight of the mapped rule where its gate is open."""


def transfer_with_many_rows(rows: TransferRows, own_shares: bool, tell: Tell = silent) -> Outcome:
    """The target's own discriminants; with a rule of the source by soft pairs, or its shares, where a gate opens.

    - Soft pairs: a probe that knows no target label agrees with the target's own guesses, under the same names.
    - Shares of the source, unless the caller's ``own_shares`` are to hold: they are unequal, and correlate with those
      that the target finds by itself.
    - Both: discriminants of the source tell its own classes apart.
    """
    tell("target alone", ALL_ROUNDS + 2)
    own = fit_own_rule(rows)
    P = posterior(own, rows)
    some = rows.among_shared()
    assert some.prepared is not None
    source, target = some.prepared
    alone = partial(Outcome, own, P[rows.unlabelled], fit_own_rule, weights={"target": 1.0})
    if not source_accuracy(source.points, some.ys, some.n_classes)[1]:
        return alone(reason="its own rows do not tell its classes apart")
    counts = np.bincount(some.ys, minlength=some.n_classes).astype(float)
    unequal = not own_shares and counts.max() > UNEQUAL * counts.min()
    shares = floor_shares(counts) if unequal else some.shares
    among = posterior(fit_own_rule(some), some)
    left = iter(range(ALL_ROUNDS + 1, 1, -1))
    found = guess_by_soft_pairs(
        source, some.ys, target, some.yt, among, shares, tick=lambda: tell("soft pairs", next(left, 1))
    )
    evidence = {"soft pairs": found.evidence.z, "identity": found.evidence.identity}
    r = {"target": agreement(rows, P[rows.unlabelled])}
    if found.is_open:
        return _use_source(rows, own, found, evidence, r)
    closed = (
        "by geometry alone its classes agree with the target's no better than under other names "
        f"(z = {found.evidence.z:.1f}, {found.evidence.identity:.2f} of the best renaming)"
    )
    if unequal:
        evidence["shares"] = correlate_shares(target.points, some.yt, among, shares)
    if evidence.get("shares", 0.0) <= ALIKE:
        return alone(evidence=evidence, agreement=r, reason=closed)
    return _use_shares(rows, shares, P, evidence, r, closed)


def _use_source(
    rows: TransferRows, own: Rule, found: SoftPairs, evidence: dict[str, float], r: dict[str, float]
) -> Outcome:
    """The rule of the mapped source and that of the target, two to one."""

    def with_mapped(own: Rule) -> Rule:
        mapped: Rule = MappedScores(found.rule)
        if len(rows.shared) < rows.n_classes:
            mapped = SubsetRule(mapped, rows.shared, own)
        return Vote((mapped, own), np.array([MAPPED, 1.0 - MAPPED]))

    rule = with_mapped(own)
    P = posterior(rule, rows)[rows.unlabelled]
    r = r | {"soft pairs": agreement(rows, P)}
    reason = (
        "by geometry alone its classes agree with the target's own guesses and labels better than under other names "
        f"(z = {evidence['soft pairs']:.1f})"
    )

    def again(fewer: TransferRows) -> Rule:
        return with_mapped(fit_own_rule(fewer))

    weights = {"soft pairs": MAPPED, "target": 1.0 - MAPPED}
    return Outcome(rule, P, again, evidence, r, weights, True, reason)


def _use_shares(
    rows: TransferRows,
    shares: FloatArray,
    P: FloatArray,
    evidence: dict[str, float],
    r: dict[str, float],
    closed: str,
) -> Outcome:
    """The target's own discriminants with the shares of the source's classes."""
    full = rows.shares.copy()
    full[rows.shared] = shares * full[rows.shared].sum()
    as_source = rows.with_shares(floor_shares(full))
    guesses = P[rows.unlabelled]
    rule = fit_own_rule(as_source, guesses)

    def again(fewer: TransferRows) -> Rule:
        return fit_own_rule(fewer.with_shares(as_source.shares), guesses)

    reason = (
        f"only for the shares of its classes, which are as the target's own (correlation {evidence['shares']:.2f}); "
        + closed
    )
    return Outcome(
        rule,
        posterior(rule, rows)[rows.unlabelled],
        again,
        evidence,
        r,
        {"target": 1.0},
        True,
        reason,
        as_source.shares,
    )


NAMING_SHARPNESS, SIGNATURES = 6.0, 0.6
"""The weight of a start is exp(6 (r + 0.6 s)), with s how far row signatures bear out its names."""
BETTER = 0.05
"""By so much r + 0.6 s has to rise for clusters to be given other names than the vote has for them."""
CLOSED, SURE = -1.0, 1.0
"""Deviations from renamed sources: below the first, the source is left out; above the second, names are sure."""


def name_classes(rows: TransferRows, rng: np.random.Generator, tell: Tell = silent) -> Outcome:
    """The vote of all starts, each polished by the target's own discriminants, with weights exp(6 (r + 0.6 s)).

    r is the agreement of the classes' geometry with that of the source, s how far a rule of the source's row
    signatures, which knows no label of the target, names the rows as the start does.

    What was voted for is a clustering of the target whose names may still be mixed up: graph matching may give it
    others. Self-trained MLHD goes on from there, and the target's own discriminants have the last word.

    Sources whose classes are renamed at random tell how much agreement a useless source reaches. Below what these
    give, the source is left out: the target's clusters remain, among which classes without a label can't be told
    apart and share their probability.
    """
    tell("clusters", 5)
    own, own_discriminant = polish_guesses(rows, cluster(rows, rng).P)
    some = rows.among_shared()
    tell("renamed sources", 4)
    if not len(some.known) or len(rows.shared) < 2:
        return _target_only_outcome(
            rows, own, own_discriminant, "no class that it tells from others has a labelled target row", {}
        )
    z = naming_against_renamings(some, rng)
    if z < CLOSED:
        reason = f"its classes lie to each other less as the target's do than under other names (z = {z:.1f})"
        return _target_only_outcome(rows, own, own_discriminant, reason, {"renamings": z})
    tell("starts", 3)
    ends = {guess.name: polish_guesses(rows, guess.P) for guess in run_source_starts(rows, own)}
    r = {name: agreement(rows, P) for name, (P, _) in ends.items()}
    merit = _merit(rows)
    merits = np.array([merit(P) for P, _ in ends.values()])
    raw = np.exp(NAMING_SHARPNESS * (merits - merits.max()))
    weights = raw / raw.sum()
    voted = np.einsum("s,snc->nc", weights, np.array([P for P, _ in ends.values()]))
    tell("self-trained mlhd", 2)
    found = iterate_mlhd(some, restrict_to_shared(_best_renaming(rows, voted, merit), rows), rng)
    P = extend_to_all(found, rows, own)

    rule = fit_own_rule(rows, P, ROUNDS - 1)
    named_by = dict(zip(ends, weights.tolist(), strict=True))
    return Outcome(
        rule,
        posterior(rule, rows)[rows.unlabelled],
        lambda fewer: fit_own_rule(fewer, P, 0),
        {"renamings": z},
        r,
        named_by,
        True,
        _naming_reason(max(r.values()), z),
    )


def _merit(rows: TransferRows) -> Callable[[FloatArray], float]:
    """What speaks for the names of guesses (n_u, C): r, and signatures where the source can tell its own classes."""
    some = rows.among_shared()
    assert some.prepared is not None
    source, target = some.prepared
    if not measure_separability(source, some.ys, some.n_classes)[1]:
        return lambda P: agreement(rows, P)
    signed = softmax(signature_scores(source, some.ys, target, some.n_classes)[some.unlabelled], axis=1)
    weight = SIGNATURES / (some.n_classes - 1)  # of two perfect guesses, z is C - 1
    return lambda P: agreement(rows, P) + weight * naming_z(signed.T @ P[:, rows.shared])


def _best_renaming(rows: TransferRows, P: FloatArray, merit: Callable[[FloatArray], float]) -> FloatArray:
    """Guesses P (n_u, C), or the clusters that they end in under other names, if these agree better by far."""
    if len(rows.shared) < rows.n_classes:
        return P
    ended = polish_guesses(rows, P)[0]
    other = name_clusters(rows, ended).P
    return other if merit(other) > merit(ended) + BETTER else P


def run_source_starts(rows: TransferRows, own: FloatArray) -> list[Guess]:
    """Every start that the source has a part in; ``own`` are clusters of the target (n_u, C)."""
    some = rows.among_shared()
    found = [guess_by_zero_shot(some), guess_by_relative_means(some), guess_by_mlhd(some)]
    found += [iterate_procrustes(some, guess) for guess in found]
    if len(some.shares) == rows.n_classes:
        found.append(name_clusters(rows, own))
    if rows.pairs is not None:
        found.append(Guess("pairs", fit_paired_rule(rows).posterior(normalize_rows(rows.target[rows.unlabelled]))))
    return [Guess(guess.name, extend_to_all(guess.P, rows, own)) for guess in found]


def _target_only_outcome(
    rows: TransferRows, own: FloatArray, rule: Rule, reason: str, evidence: dict[str, float]
) -> Outcome:
    def again(fewer: TransferRows) -> Rule:
        return TiedClasses(polish_guesses(fewer, own, rounds=1)[1], rows.unknown)

    P = own.copy()
    P[:, rows.unknown] = P[:, rows.unknown].mean(axis=1, keepdims=True)
    return Outcome(TiedClasses(rule, rows.unknown), P, again, evidence, weights={"target": 1.0}, reason=reason)


def _naming_reason(r: float, z: float) -> str:
    if z > SURE:
        return (
            f"its classes lie to each other as the target's do (agreement {r:.2f}, renamings reach less, z = {z:.1f})"
        )
    return f"but renamed sources agree about as well (agreement {r:.2f}, z = {z:.1f}), so check the names"


MANY = 350
"""Rows, by the geometric mean of both domains, from which soft pairs take over: by development seeds, at 290 rows
(Reuters) the recipe for few rows is better by .03, at 450 (mfeat) and 424 (digits, 1 label) worse by as much."""

PAIRS = 0.5
"""The weight of the rule that known pairs give."""
KAPPA, IDENTITY = 0.15, 0.6
"""Its gate: how far it agrees with what was found beyond chance, and over the best renaming of the classes."""


def run_recipe(
    rows: TransferRows, rng: np.random.Generator, own_shares: bool = False, tell: Tell = silent
) -> Outcome:
    """By the recipe for rows of this kind; with ``own_shares`` the assumed shares hold, whatever the source has.

    - No unlabelled target row: discriminants of the labelled ones, over their classes.
    - A class of the source that no target row is labelled with: :func:`name_classes`.
    - Every class labelled, rows many: :func:`transfer_with_many_rows`.
    - Every class labelled, rows few: :func:`transfer_with_few_labels`.

    Where every class is labelled and pairs are known, the rule that these give has a say too.
    """
    if not rows.unlabelled.any():
        return _drop_unlabelled(rows)
    if len(rows.unknown):
        return name_classes(rows, rng, tell)
    if len(rows.shared) < 2:
        reason = "it has no two classes to tell apart"
        own = fit_target_only(rows)
        return Outcome(
            own, posterior(own, rows)[rows.unlabelled], fit_target_only, weights={"target": 1.0}, reason=reason
        )
    fewer, more = sorted((len(rows.source), len(rows.target)))
    many = fewer * more >= MANY**2 and fewer >= MANY // 2
    found = transfer_with_many_rows(rows, own_shares, tell) if many else transfer_with_few_labels(rows, rng, tell)
    return found if rows.pairs is None else add_pairs(rows, found)


def estimate_shares(rows: TransferRows, found: Outcome) -> TransferRows:
    """Rows under the shares that the target gives by itself, from what a first run found."""
    P = np.zeros((len(rows.yt), rows.n_classes))
    P[rows.unlabelled], P[~rows.unlabelled] = found.P, rows.one_hot
    return rows.with_shares(floor_shares(learn_shares(rows.target, rows.yt, P)))


def add_pairs(rows: TransferRows, found: Outcome) -> Outcome:
    """In equal parts with the rule that known pairs give, if it agrees with what was found, under the same names."""
    learned = fit_paired_rule(rows)
    U = rows.target[rows.unlabelled]

    def joined(rule: Rule) -> Rule:
        mapped: Rule = MappedScores(learned)
        if len(rows.shared) < rows.n_classes:
            mapped = SubsetRule(mapped, rows.shared, rule)
        return Vote((mapped, rule), np.array([PAIRS, 1.0 - PAIRS]))

    P = softmax(MappedScores(learned).scores(U), axis=1)
    agreed, same = kappa(P, found.P[:, rows.shared]), identity_share(P, found.P[:, rows.shared])
    evidence = found.evidence | {"pairs": agreed}
    if agreed <= KAPPA or same < IDENTITY:
        return replace(found, evidence=evidence)
    rule = joined(found.rule)
    return replace(
        found,
        rule=rule,
        P=posterior(rule, rows)[rows.unlabelled],
        again=lambda fewer: joined(found.again(fewer)),
        evidence=evidence,
        weights={name: w * (1.0 - PAIRS) for name, w in found.weights.items()} | {"pairs": PAIRS},
        source_used=True,
        reason=f"the map that known pairs give agrees with the target's own guesses (κ = {agreed:.2f})",
    )


def _drop_unlabelled(rows: TransferRows) -> Outcome:
    none = np.empty((0, rows.n_classes))

    def again(fewer: TransferRows) -> Rule:
        return average_rules(fit_discriminants(fewer, none, rounds=0))

    reason = "no target row is without a label, so there is nothing to carry over"
    return Outcome(again(rows), none, again, weights={"target": 1.0}, reason=reason)
