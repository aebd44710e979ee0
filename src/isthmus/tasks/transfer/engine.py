"""The recipe of :class:`~isthmus.LabelTransfer`, from rows to a calibrated rule.

1. **Recipe**, by what is labelled and by the number of rows (:func:`transfer_labels`):

   - *A class has no target label*: :func:`name_classes`. Gate: the agreement of zero-shot ridge and relative means,
     refitted with relabelled sources. Starts: zero-shot, relative, MLHD, each of them rotated, named clusters, known
     pairs. Mixture: a vote with weights exp(6 (r + 0.6 s)); then self-trained MLHD, then discriminants of the target.
   - *Every class has one, rows are few*: :func:`transfer_with_few_rows`. Start: the target's ensemble. Gates: row
     signatures, class geometry. Mixture: signatures as a prior of the ensemble, self-trained MLHD in equal parts with
     it.
   - *Every class has one, rows are many*: :func:`transfer_with_many_rows`. Start: the vote of the target's
     discriminants. Gates: a blind probe of soft pairs, else the shares of the classes. Mixture: soft pairs and target
     two to one, or the target with the source's shares.

   In each of them a closed gate leaves the target alone. Where both domains share columns, the source's classifier
   on these comes first (:func:`transfer_with_shared_features`), and replaces the recipe if its gate opens.
2. **Pairs** pass labels on; where classes have none, their map is a start of names. Where no target row has a label,
   pairs name their target rows, and experts learn from these (:func:`transfer_through_pairs`).
3. **Shares**: with ``shares="labelled"``, those that labelled rows support
   (:func:`~isthmus.geometry.discriminants.infer_shares`), before all else.
4. **Calibration**: one temperature, from reruns of all this with labels held out in three folds
   (:func:`~isthmus.tasks.transfer.evidence.fit_temperature`).

The starts are in :mod:`~isthmus.tasks.transfer.starts` and :mod:`~isthmus.tasks.transfer.soft_pairs`, the rules and
their mixtures in :mod:`~isthmus.tasks.transfer.scoring`, the measures behind the gates in
:mod:`~isthmus.tasks.transfer.evidence`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import softmax

from isthmus._core.validation import FloatArray, IntArray
from isthmus.geometry.similarity import normalize_precisely, normalize_rows
from isthmus.tasks.transfer import starts, through_pairs
from isthmus.tasks.transfer.evidence import (
    SignatureStart,
    fit_temperature,
    guess_by_signatures,
    measure_agreement,
    measure_geometry_z,
    measure_merit,
    measure_naming_z,
    measure_separability,
)
from isthmus.tasks.transfer.problem import TransferRows, extend_classes, floor_shares, restrict_classes
from isthmus.tasks.transfer.scoring import (
    AXES_PER_CLASS,
    ROUNDS,
    Guess,
    Rule,
    TiedClasses,
    polish_guesses,
    vote_with_source,
)
from isthmus.tasks.transfer.shared_evidence import LinearScores, add_shared_scores, guess_by_shared_features
from isthmus.tasks.transfer.soft_pairs import ALL_ROUNDS, guess_by_soft_pairs

# Rows, by the geometric mean of both domains, from which soft pairs take over: by development seeds, at 290 rows
# (Reuters) the recipe for few rows is better by .03, at 450 (mfeat) and 424 (digits, 1 label) worse by as much.
MANY = 350
# z of names: below the first the source is not used; above the second the names are reliable.
CLOSED, SURE = -1.0, 1.0
# The weight of a start is exp(6 (r + 0.6 s)).
MERIT_SHARPNESS, SIGNATURE_WEIGHT = 6.0, 0.6
# The rise of r + 0.6 s for which clusters get other names than those of the vote.
BETTER = 0.05
# z of the class geometries above which MLHD takes part.
GEOMETRY = 0.5
# Shares of the source are tried where the largest is this many times the smallest, and used where their correlation
# with those of the target alone is above the second.
UNEQUAL, LEAST_CORRELATION = 2.0, 0.7
# The weight of soft pairs where their gate is open.
MAPPED = 2.0 / 3.0
NOT_SEPARABLE = "its own rows do not separate its classes"

# Called before each step with its name and the number of steps left, this one included.
StepProgress: TypeAlias = Callable[[str, int], None]


@dataclass(frozen=True, eq=False)
class TransferOutcome:
    """The rule that a recipe found, its parts, and whether the source is one of them."""

    rule: Rule
    # Guesses of the unlabelled target rows (n_u, C).
    P: FloatArray
    # The reason, as the end of a sentence.
    reason: str
    # True: the source is used; False: it is not; None: it is used, but its names for classes are doubtful.
    ok: bool | None = False
    # The measures of the gates, by name.
    evidence: dict[str, float] = field(default_factory=dict)
    # The agreement r of the class geometries for each start.
    agreement: dict[str, float] = field(default_factory=dict)
    # The weight of each start; they sum to one.
    weights: dict[str, float] = field(default_factory=lambda: {"target": 1.0})
    # The shares of the classes, where the recipe replaced the assumed ones.
    shares: FloatArray | None = None
    temperature: float = 1.0
    # The rule of shared features, where these are used.
    shared_rule: LinearScores | None = None

    def score(self, rows: TransferRows, places: Any) -> FloatArray:
        """Return scores of the classes (n, C) of target rows of the fit, by own and by shared features."""
        shared = None if rows.features is None else rows.features.target[places]
        return add_shared_scores(self.rule.scores(rows.target[places]), self.shared_rule, shared)

    def measure_agreement(self, rows: TransferRows) -> float:
        """Return the share of unlabelled rows whose class the nearest labelled row, or the shared rule, confirms."""
        mine = self.rule.scores(rows.target[rows.unlabelled]).argmax(axis=1)
        if self.shared_rule is not None and rows.features is not None:
            shared = normalize_precisely(rows.features.target[rows.unlabelled])
            return float(np.mean(self.shared_rule.scores(shared).argmax(axis=1) == mine))
        view = rows.at(AXES_PER_CLASS)
        return float(np.mean(view.yl[cdist(view.U, view.L, "sqeuclidean").argmin(axis=1)] == mine))


def transfer_labels(
    rows: TransferRows, rng: np.random.Generator, shares: str | FloatArray, progress: StepProgress, calibrate: bool
) -> TransferOutcome:
    """Run the whole recipe; ``shares`` is the checked parameter, by which the shares of the rows were assumed."""
    found = run_recipe(rows, rng, shares, progress)
    if not calibrate or not len(rows.known):  # through pairs, the weights of experts are those of held-out pairs
        return found
    progress("calibration", 1)

    def rerun(some: TransferRows) -> TransferOutcome:
        return run_recipe(some, np.random.default_rng(0), shares, lambda what, left: None)

    return replace(found, temperature=fit_temperature(rows, rerun, found))


def run_recipe(
    rows: TransferRows, rng: np.random.Generator, shares: str | FloatArray, progress: StepProgress
) -> TransferOutcome:
    """Run the recipe once; shares can be those that labelled rows ("labelled") or the source ("auto") support."""
    word = shares if isinstance(shares, str) else ""
    auto = word == "auto"
    rows = rows.estimate_shares() if word == "labelled" else rows
    found, evidence = None, dict[str, float]()
    without, names = rows, None
    if not len(rows.known):
        names = through_pairs.name_partners(rows)
        rows = through_pairs.pass_names(rows, names)
    if rows.features is not None and rows.unlabelled.any() and len(rows.shared) == rows.n_classes > 1:
        progress("shared columns", 2)
        found, evidence = transfer_with_shared_features(rows, rng, auto)
    if found is None and names is not None and len(np.unique(names)) > 1:
        progress("known pairs", 1)
        found = transfer_through_pairs(without, names)
    elif found is None:
        found = _choose_recipe(rows, rng, auto, progress)
    in_the_end = rows.shares if found.shares is None else found.shares
    return replace(found, shares=in_the_end, evidence=evidence | found.evidence)


def transfer_with_shared_features(
    rows: TransferRows, rng: np.random.Generator, auto: bool
) -> tuple[TransferOutcome | None, dict[str, float]]:
    """Let the source's classifier on shared features teach the target; return None where its gate is closed.

    The guesses of that classifier, which sees no target label, have to agree with the target's own guesses and
    labels under the names that the classes have, and to be predictable from the target's own features.
    """
    if len(rows.unknown):  # clusters: the names of those of unlabelled classes mean nothing, and count as such
        rule: Rule = polish_guesses(rows, starts.cluster_target(rows, rng).P)[1]
    else:
        rule = starts.fit_target_vote(rows)
    guess = starts.predict_target(rule, rows)
    counts = np.bincount(rows.ys[rows.ys >= 0], minlength=rows.n_classes).astype(float)
    own = not auto or rows.strictness < 1.0 or counts.max() <= UNEQUAL * counts.min()
    found = guess_by_shared_features(rows, guess, rows.shares if own else floor_shares(counts))
    evidence = {"shared columns": found.probe.z, "shared and own columns": found.cross}
    if not found.is_open:
        return None, evidence
    reason = (
        "the columns that both have name rows as the target's own guesses and labels do "
        f"(z = {found.probe.z:.1f}), and as its own columns can learn (κ = {found.cross:.2f})"
    )
    weights = {"shared columns": 1.0}
    outcome = TransferOutcome(found.own, guess, reason, True, {}, {}, weights, shared_rule=found.shared)
    return replace(outcome, P=softmax(outcome.score(rows, rows.unlabelled), axis=1)), evidence


def _choose_recipe(
    rows: TransferRows, rng: np.random.Generator, auto: bool, progress: StepProgress
) -> TransferOutcome:
    if not rows.unlabelled.any():
        none = np.empty((0, rows.n_classes))
        rule = starts.average_rules(starts.fit_discriminants(rows, none, rounds=0))
        return TransferOutcome(rule, none, "every target row has a label, so there is nothing to transfer")
    if len(rows.unknown):
        return name_classes(rows, rng, progress)
    if len(rows.shared) < 2:
        own = starts.fit_target_ensemble(rows)
        P = starts.predict_target(own, rows)[rows.unlabelled]
        return TransferOutcome(own, P, "it has fewer than two classes")
    fewer, more = sorted((len(rows.source), len(rows.target)))
    if fewer * more >= MANY**2 and fewer >= MANY // 2:
        return transfer_with_many_rows(rows, auto, progress)
    return transfer_with_few_rows(rows, rng, progress)


def name_classes(rows: TransferRows, rng: np.random.Generator, progress: StepProgress) -> TransferOutcome:
    """Name classes without a target label: a vote of starts, then self-trained MLHD, then the target's discriminants.

    A start is weighted by exp(6 (r + 0.6 s)): r is the agreement of the class geometries, s how far a rule of the
    source's row signatures, which sees no target label, names the rows as the start does.

    Where the gate is closed, the target's clusters remain. Classes without a label can't be told apart among them,
    and share their probability.
    """
    progress("clusters", 5)
    own, discriminant = polish_guesses(rows, starts.cluster_target(rows, rng).P)
    some = rows.drop_target_classes()
    progress("relabelled sources", 4)
    if not len(some.known) or len(rows.shared) < 2:
        return _keep_clusters(rows, own, discriminant, "no class that it separates from others has a target label")
    z = measure_naming_z(some, rng)
    evidence = {"relabellings": z}
    if z < CLOSED:
        reason = f"the class geometries agree less than under random relabellings (z = {z:.1f})"
        return replace(_keep_clusters(rows, own, discriminant, reason), evidence=evidence)

    progress("starts", 3)
    ends = {guess.name: polish_guesses(rows, guess.P)[0] for guess in run_source_starts(rows, some, own)}
    r = {name: measure_agreement(rows, P) for name, P in ends.items()}
    merit = measure_merit(rows, SIGNATURE_WEIGHT)
    merits = np.array([merit(P) for P in ends.values()])
    raw = np.exp(MERIT_SHARPNESS * (merits - merits.max()))
    weights = raw / raw.sum()
    vote = np.einsum("s,snc->nc", weights, np.array(list(ends.values())))
    if len(rows.shared) == rows.n_classes:
        # The vote is a clustering of the target whose names may still be mixed up.
        ended = polish_guesses(rows, vote)[0]
        matched = starts.name_clusters(rows, ended).P
        vote = matched if merit(matched) > merit(ended) + BETTER else vote

    progress("self-trained mlhd", 2)
    P = extend_classes(starts.iterate_mlhd(some, restrict_classes(vote, rows), rng), rows, own)
    rule = starts.fit_target_vote(rows, P, ROUNDS - 1)
    guesses = starts.predict_target(rule, rows)[rows.unlabelled]
    named_by = dict(zip(ends, weights.tolist(), strict=True))
    best = max(r.values())
    reason = f"the class geometries agree ({best:.2f}; z = {z:.1f} against random relabellings)"
    if z <= SURE:
        reason = f"check the names, relabelled sources agree about as well (agreement {best:.2f}; z = {z:.1f})"
    ok = True if z > SURE else None
    return TransferOutcome(rule, guesses, reason, ok, evidence, r, named_by)


def run_source_starts(rows: TransferRows, some: TransferRows, own: FloatArray) -> list[Guess]:
    """Run every start that the source has a part in, on ``some``; ``own`` are clusters of the target (n_u, C)."""
    found = [starts.guess_by_zero_shot(some), starts.guess_by_relative_means(some), starts.guess_by_mlhd(some)]
    found += [starts.rotate_guess(some, guess) for guess in found]
    if some.n_classes == rows.n_classes:
        found.append(starts.name_clusters(rows, own))
    if rows.pairs is not None:
        U = normalize_rows(rows.target[rows.unlabelled])
        found.append(Guess("pairs", starts.fit_paired_rule(rows).posterior(U)))
    return [Guess(guess.name, extend_classes(guess.P, rows, own)) for guess in found]


def _keep_clusters(rows: TransferRows, own: FloatArray, rule: Rule, reason: str) -> TransferOutcome:
    """Return the target's clusters ``own`` (n_u, C), in which classes without a label are tied."""
    P = own.copy()
    P[:, rows.unknown] = P[:, rows.unknown].mean(axis=1, keepdims=True)
    return TransferOutcome(TiedClasses(rule, rows.unknown), P, reason)


def transfer_with_few_rows(rows: TransferRows, rng: np.random.Generator, progress: StepProgress) -> TransferOutcome:
    """Fit the target's ensemble; with row signatures as a prior, and with self-trained MLHD, where their gates open.

    - Signatures: the target's own guesses, which know nothing of them, support them.
    - MLHD: signatures are used, or the class geometries agree better than under random relabellings.
    - Both: discriminants of the source separate its own classes, and geometry and signatures, taken together, agree
      better with the target under the names that the classes have than under others.
    """
    progress("target alone", 4)
    own = starts.fit_target_ensemble(rows)
    P = starts.guess_by_rule(own, rows)
    alone = partial(TransferOutcome, own, P)
    some = rows.drop_target_classes()
    progress("signatures", 3)
    flat = starts.guess_by_rule(own, rows, sharpness=1.0 / starts.SHARPNESS)
    signs = _run_signatures(some, restrict_classes(flat, rows))
    if not signs.source_learns:
        return alone(NOT_SEPARABLE)
    z = measure_geometry_z(some, restrict_classes(P, rows), rng)
    r = {"target": measure_agreement(rows, P)}
    evidence = {"geometry": z, "signatures": signs.trust, "names": signs.names}
    closed = partial(alone, evidence=evidence, agreement=r)
    if not signs.gate and z <= GEOMETRY:
        return closed(
            f"the class geometries agree no better than under random relabellings (z = {z:.1f}), and the target's "
            f"own guesses do not support row signatures (trust {signs.trust:.2f})"
        )
    if z + signs.names <= 0.0:
        return closed(
            "class geometries and row signatures together agree no better than under random relabellings "
            f"(z = {z:.1f} and {signs.names:.1f})"
        )

    prior = np.zeros((int(rows.unlabelled.sum()), rows.n_classes))  # none for classes that the source lacks
    prior[:, rows.shared] = signs.prior[some.unlabelled]
    base = _teach_signatures(rows, own, prior=prior, gate=signs.gate)
    progress("mlhd", 2)
    guesses = restrict_classes(starts.guess_by_rule(base, rows, signs.gate * prior), rows)
    Q = extend_classes(starts.iterate_mlhd(some, guesses, rng, signs.gate * prior[:, rows.shared]), rows, P)
    r["mlhd"] = measure_agreement(rows, Q)
    # Discriminants taught by MLHD's guesses, in equal parts with the rule so far.
    rule = starts.combine(rows, base, starts.average_rules(starts.fit_discriminants(rows, Q, rounds=1)))
    weights = {"target": 0.5 - 0.25 * signs.gate, "signatures": 0.25 * signs.gate, "mlhd": 0.5}
    reasons = [f"the class geometries agree (z = {z:.1f} against random relabellings)"] if z > GEOMETRY else []
    reasons += [f"row signatures agree with the target's own guesses (trust {signs.trust:.2f})"] if signs.gate else []
    return TransferOutcome(
        rule,
        starts.guess_by_rule(rule, rows),
        ", and ".join(reasons),
        True,
        evidence,
        r,
        {name: weight for name, weight in weights.items() if weight},
    )


def _run_signatures(some: TransferRows, guesses: FloatArray) -> SignatureStart:
    """Guess by signatures, and test them by the target's own guesses of unlabelled rows (n_u, C')."""
    known = np.zeros((len(some.yt), some.n_classes))
    known[~some.unlabelled], known[some.unlabelled] = some.one_hot, guesses
    return guess_by_signatures(some.prepared[0], some.ys, some.prepared[1], known, some.unlabelled)


def _teach_signatures(rows: TransferRows, own: Rule, *, prior: FloatArray, gate: float) -> Rule:
    """Return the target's ensemble with the prior; at a half-open gate, in equal parts with the one without."""
    if gate == 0.0:
        return own
    taught = starts.fit_target_ensemble(rows, prior)
    return taught if gate == 1.0 else starts.combine(rows, taught, own)


def transfer_with_many_rows(rows: TransferRows, auto: bool, progress: StepProgress) -> TransferOutcome:
    """Fit the target's discriminants; with a rule of the source by soft pairs, or its shares, where a gate opens.

    - Soft pairs: a probe that sees no target label agrees with the target's own guesses, under the same names.
    - Shares of the source, with ``auto``: they are unequal, and correlate with those of the target alone.
    - Both: discriminants of the source separate its own classes.
    """
    progress("target alone", ALL_ROUNDS + 2)
    own = starts.fit_target_vote(rows)
    P = starts.predict_target(own, rows)[rows.unlabelled]
    some = rows.drop_target_classes()
    source, target = some.prepared
    alone = partial(TransferOutcome, own, P)
    if not measure_separability(source.points, some.ys, some.n_classes)[1]:
        return alone(NOT_SEPARABLE)
    counts = np.bincount(some.ys, minlength=some.n_classes).astype(float)
    unequal = auto and counts.max() > UNEQUAL * counts.min()
    shares = floor_shares(counts) if unequal else some.shares
    guesses = starts.predict_target(starts.fit_target_vote(some), some)
    left = iter(range(ALL_ROUNDS + 1, 1, -1))
    found = guess_by_soft_pairs(
        source, some.ys, target, some.yt, guesses, shares, lambda: progress("soft pairs", next(left, 1))
    )
    probe = found.evidence
    evidence = {"soft pairs": probe.z, "identity": probe.identity}
    r = {"target": measure_agreement(rows, P)}
    if probe.is_open:
        rule = vote_with_source(rows, found.rule, own, MAPPED)
        P = starts.predict_target(rule, rows)[rows.unlabelled]
        r["soft pairs"] = measure_agreement(rows, P)
        reason = f"soft pairs by geometry alone agree with the target's guesses and labels (z = {probe.z:.1f})"
        weights = {"soft pairs": MAPPED, "target": 1.0 - MAPPED}
        return TransferOutcome(rule, P, reason, True, evidence, r, weights)
    reason = (
        f"soft pairs by geometry alone do not pass their test (z = {probe.z:.1f} against random relabellings, "
        f"{probe.identity:.2f} of the best relabelling, {probe.n_classes} classes)"
    )
    if unequal:
        evidence["shares"] = starts.correlate_shares(target.points, some.yt, guesses, shares)
    if evidence.get("shares", 0.0) <= LEAST_CORRELATION:
        return alone(reason, evidence=evidence, agreement=r)
    shares_only = f"only for the shares of its classes (correlation {evidence['shares']:.2f} with the target's own)"
    return replace(
        _use_shares(rows, shares, P), reason=f"{shares_only}; {reason}", ok=True, evidence=evidence, agreement=r
    )


def _use_shares(rows: TransferRows, shares: FloatArray, P: FloatArray) -> TransferOutcome:
    """Fit the target's discriminants, from guesses P (n_u, C), with the shares of the source's classes."""
    full = rows.shares.copy()
    full[rows.shared] = shares * full[rows.shared].sum()
    full = floor_shares(full)
    rule = starts.fit_target_vote(replace(rows, shares=full, strictness=1.0), P)
    return TransferOutcome(rule, starts.predict_target(rule, rows)[rows.unlabelled], "", shares=full)


def transfer_through_pairs(rows: TransferRows, names: IntArray) -> TransferOutcome:
    """Pool experts that learn from the names of the pairs (P,), with weights from held-out pairs.

    - Pairs: names of held-out pairs are predicted better than by chance. If not, they were shuffled, and no class can
      be told from another. In between the answer is open.
    """
    pool, z = through_pairs.weigh_experts(rows, names)
    rule: Rule = pool
    reason = f"the classes of held-out pairs are predicted from the others (z = {z:.1f})"
    weights = dict(zip(through_pairs.EXPERTS, (pool.weights / pool.weights.sum()).tolist(), strict=True))
    if z <= through_pairs.LEAST_Z:
        reason = f"the classes of held-out pairs are predicted no better than by chance (z = {z:.1f})"
        rule, weights = TiedClasses(pool, np.arange(rows.n_classes)), {"target": 1.0}
    elif z <= through_pairs.SURE_Z:
        reason = f"check the pairs, those held out are predicted little better than by chance (z = {z:.1f})"
    ok = True if z > through_pairs.SURE_Z else None if z > through_pairs.LEAST_Z else False
    P = softmax(rule.scores(rows.target), axis=1)
    return TransferOutcome(rule, P, reason, ok, {"pairs": z}, {}, weights)
