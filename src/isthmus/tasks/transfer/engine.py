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
3. **Shares**: those that labelled rows support, if these show that they are not equal
   (:func:`~isthmus.geometry.discriminants.infer_shares`), before all else.
4. **Calibration**: one temperature, from reruns of all this with labels held out in three folds
   (:func:`~isthmus.tasks.transfer.evidence.fit_temperature`).

The starts are in :mod:`~isthmus.tasks.transfer.starts` and :mod:`~isthmus.tasks.transfer.soft_pairs`, the rules,
their mixtures and what the target learns by itself in :mod:`~isthmus.tasks.transfer.scoring`, the gates' measures in
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

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import FloatArray, IntArray
from isthmus.geometry.discriminants import floor_shares
from isthmus.tasks.transfer import evidence, scoring, shared_evidence, starts
from isthmus.tasks.transfer.problem import TransferRows, extend_classes, restrict_classes, tie_classes
from isthmus.tasks.transfer.scoring import LinearScores, Rule, TiedClasses, polish_guesses
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
        return shared_evidence.add_shared_scores(self.rule.scores(rows.target[places]), self.shared_rule, shared)

    def measure_agreement(self, rows: TransferRows) -> float:
        """Return the share of unlabelled rows whose class the nearest labelled row, or the shared rule, confirms."""
        mine = self.rule.scores(rows.target[rows.unlabelled]).argmax(axis=1)
        if self.shared_rule is not None and rows.features is not None:
            shared = self.shared_rule.scores(rows.features.target[rows.unlabelled])
            return float(np.mean(shared.argmax(axis=1) == mine))
        view = rows.at()
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

    return replace(found, temperature=evidence.fit_temperature(rows, rerun, found))


def run_recipe(
    rows: TransferRows, rng: np.random.Generator, shares: str | FloatArray, progress: StepProgress
) -> TransferOutcome:
    """Run the recipe once; shares can be those that labelled rows support, and with "auto" those of the source."""
    word = shares if isinstance(shares, str) else ""
    auto = word == "auto"
    rows = rows.estimate_shares() if word in ("auto", "labelled") else rows
    found, measures = None, dict[str, float]()
    without, names = rows, None
    if not len(rows.known):
        names = shared_evidence.name_partners(rows)
        rows = shared_evidence.pass_names(rows, names)
    if rows.features is not None and rows.unlabelled.any() and len(rows.shared) == rows.n_classes > 1:
        progress("shared columns", 2)
        found, measures = transfer_with_shared_features(rows, rng, auto)
    if found is None and names is not None and len(np.unique(names)) > 1:
        progress("known pairs", 1)
        found = transfer_through_pairs(without, names)
    elif found is None:
        found = _choose_recipe(rows, rng, auto, progress)
    in_the_end = rows.shares if found.shares is None else found.shares
    return replace(found, shares=in_the_end, evidence=measures | found.evidence)


def transfer_with_shared_features(
    rows: TransferRows, rng: np.random.Generator, auto: bool
) -> tuple[TransferOutcome | None, dict[str, float]]:
    """Let the source's classifier on shared features teach the target; return None where its gate is closed.

    The guesses of that classifier, which sees no target label, have to agree with the target's own guesses and
    labels under the names that the classes have, and to be predictable from the target's own features.
    """
    if len(rows.unknown):  # clusters: the names of those of unlabelled classes mean nothing, and count as such
        rule: Rule = polish_guesses(rows, scoring.cluster_target(rows, rng))[1]
    else:
        rule = scoring.fit_target_vote(rows)
    guess = scoring.predict_target(rule, rows)
    counts = np.bincount(rows.ys[rows.ys >= 0], minlength=rows.n_classes).astype(float)
    own = not auto or rows.strictness < 1.0 or counts.max() <= UNEQUAL * counts.min()
    shares = rows.shares if own else floor_shares(counts)
    p, probe, cross, is_open = shared_evidence.probe_shared_features(rows, guess, shares)
    measures = {"shared columns": probe.z, "shared and own columns": cross}
    if not is_open:
        return None, measures
    reason = (
        "what both have in common names rows as the target's own guesses and labels do "
        f"(z = {probe.z:.1f}), and as its own columns can learn (κ = {cross:.2f})"
    )
    rule, shared = shared_evidence.teach_by_shared_features(rows, p, shares, probe.trust)
    outcome = TransferOutcome(rule, p, reason, True, weights={"shared columns": 1.0}, shared_rule=shared)
    return replace(outcome, P=softmax(outcome.score(rows, rows.unlabelled), axis=1)), measures


def _choose_recipe(
    rows: TransferRows, rng: np.random.Generator, auto: bool, progress: StepProgress
) -> TransferOutcome:
    if not rows.unlabelled.any():
        none = np.empty((0, rows.n_classes))
        rule = scoring.average_rules(scoring.fit_discriminants(rows, none, rounds=0))
        return TransferOutcome(rule, none, "every target row has a label, so there is nothing to transfer")
    if len(rows.unknown):
        return name_classes(rows, rng, progress)
    if len(rows.shared) < 2:
        own = scoring.fit_target_ensemble(rows)
        P = scoring.predict_target(own, rows)[rows.unlabelled]
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
    own, discriminant = polish_guesses(rows, scoring.cluster_target(rows, rng))
    some = rows.drop_target_classes()
    progress("relabelled sources", 4)
    if not len(some.known) or len(rows.shared) < 2:
        return _keep_clusters(rows, own, discriminant, "no class that it separates from others has a target label")
    z = evidence.measure_naming_z(some, rng)
    measures = {"relabellings": z}
    if z < CLOSED:
        reason = f"the class geometries agree less than under random relabellings (z = {z:.1f})"
        return replace(_keep_clusters(rows, own, discriminant, reason), evidence=measures)

    progress("starts", 3)
    ends = {name: polish_guesses(rows, P)[0] for name, P in run_source_starts(rows, some, own).items()}
    best = max(evidence.measure_agreement(rows, P) for P in ends.values())
    merit = evidence.measure_merit(rows, SIGNATURE_WEIGHT)
    merits = np.array([merit(P) for P in ends.values()])
    raw = np.exp(MERIT_SHARPNESS * (merits - merits.max()))
    weights = raw / raw.sum()
    vote = np.einsum("s,snc->nc", weights, np.array(list(ends.values())))
    if len(rows.shared) == rows.n_classes:
        # The vote is a clustering of the target whose names may still be mixed up.
        ended = polish_guesses(rows, vote)[0]
        matched = starts.name_clusters(rows, ended)
        vote = matched if merit(matched) > merit(ended) + BETTER else vote

    progress("self-trained mlhd", 2)
    P = extend_classes(starts.iterate_mlhd(some, restrict_classes(vote, rows), rng), rows.shared, own)
    rule = scoring.fit_target_vote(rows, P, scoring.ROUNDS - 1)
    guesses = scoring.predict_target(rule, rows)[rows.unlabelled]
    named_by = dict(zip(ends, weights.tolist(), strict=True))
    reason = f"the class geometries agree ({best:.2f}; z = {z:.1f} against random relabellings)"
    if z <= SURE:
        reason = f"check the names, relabelled sources agree about as well (agreement {best:.2f}; z = {z:.1f})"
    ok = True if z > SURE else None
    return TransferOutcome(rule, guesses, reason, ok, measures | {"agreement": best}, named_by)


def run_source_starts(rows: TransferRows, some: TransferRows, own: FloatArray) -> dict[str, FloatArray]:
    """Run every start that the source has a part in, on ``some``; ``own`` are clusters of the target (n_u, C)."""
    found = {
        "zero-shot": starts.guess_by_zero_shot(some),
        "relative": starts.guess_by_relative_means(some),
        "mlhd": starts.guess_by_mlhd(some),
    }
    found |= {f"{name}, rotated": starts.rotate_guess(some, P) for name, P in found.items()}
    if some.n_classes == rows.n_classes:
        found["clusters"] = starts.name_clusters(rows, own)
    if rows.pairs is not None:
        U = normalize_rows(rows.target[rows.unlabelled])
        found["pairs"] = starts.fit_paired_rule(rows).posterior(U)
    return {name: extend_classes(P, rows.shared, own) for name, P in found.items()}


def _keep_clusters(rows: TransferRows, own: FloatArray, rule: Rule, reason: str) -> TransferOutcome:
    """Return the target's clusters ``own`` (n_u, C), in which classes without a label are tied."""
    return TransferOutcome(TiedClasses(rule, rows.unknown), tie_classes(own, rows.unknown), reason)


def transfer_with_few_rows(rows: TransferRows, rng: np.random.Generator, progress: StepProgress) -> TransferOutcome:
    """Fit the target's ensemble; with row signatures as a prior, and with self-trained MLHD, where their gates open.

    - Signatures: the target's own guesses, which know nothing of them, support them.
    - MLHD: signatures are used, or the class geometries agree better than under random relabellings.
    - Both: discriminants of the source separate its own classes, and geometry and signatures, taken together, agree
      better with the target under the names that the classes have than under others.
    """
    progress("target alone", 4)
    own = scoring.fit_target_ensemble(rows)
    P = scoring.guess_by_rule(own, rows)
    alone = partial(TransferOutcome, own, P)
    some = rows.drop_target_classes()
    progress("signatures", 3)
    flat = scoring.guess_by_rule(own, rows, sharpness=1.0 / scoring.SHARPNESS)
    signs = evidence.guess_by_signatures(some, restrict_classes(flat, rows))
    if not signs.source_learns:
        return alone(NOT_SEPARABLE)
    z = evidence.measure_geometry_z(some, restrict_classes(P, rows), rng)
    measures = {"geometry": z, "signatures": signs.trust, "names": signs.names}
    closed = partial(alone, evidence=measures)
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
    prior[:, rows.shared] = signs.prior
    base = own
    if signs.gate:  # at a half-open gate, in equal parts with the one without
        taught = scoring.fit_target_ensemble(rows, prior)
        base = taught if signs.gate == 1.0 else scoring.combine(rows, taught, own)
    progress("mlhd", 2)
    guesses = restrict_classes(scoring.guess_by_rule(base, rows, signs.gate * prior), rows)
    Q = extend_classes(starts.iterate_mlhd(some, guesses, rng, signs.gate * prior[:, rows.shared]), rows.shared, P)
    # Discriminants taught by MLHD's guesses, in equal parts with the rule so far.
    rule = scoring.combine(rows, base, scoring.average_rules(scoring.fit_discriminants(rows, Q, rounds=1)))
    weights = {"target": 0.5 - 0.25 * signs.gate, "signatures": 0.25 * signs.gate, "mlhd": 0.5}
    reasons = [f"the class geometries agree (z = {z:.1f} against random relabellings)"] if z > GEOMETRY else []
    reasons += [f"row signatures agree with the target's own guesses (trust {signs.trust:.2f})"] if signs.gate else []
    used = {name: weight for name, weight in weights.items() if weight}
    P = scoring.guess_by_rule(rule, rows)
    return TransferOutcome(rule, P, ", and ".join(reasons), True, measures, used)


def transfer_with_many_rows(rows: TransferRows, auto: bool, progress: StepProgress) -> TransferOutcome:
    """Fit the target's discriminants; with a rule of the source by soft pairs, or its shares, where a gate opens.

    - Soft pairs: a probe that sees no target label agrees with the target's own guesses, under the same names.
    - Shares of the source, with ``auto``: they are unequal, and correlate with those of the target alone.
    - Both: discriminants of the source separate its own classes.
    """
    progress("target alone", ALL_ROUNDS + 2)
    own = scoring.fit_target_vote(rows)
    P = scoring.predict_target(own, rows)[rows.unlabelled]
    some = rows.drop_target_classes()
    alone = partial(TransferOutcome, own, P)
    if not evidence.is_separable(some, len(some.ys)):
        return alone(NOT_SEPARABLE)
    counts = np.bincount(some.ys, minlength=some.n_classes).astype(float)
    unequal = auto and counts.max() > UNEQUAL * counts.min()
    shares = floor_shares(counts) if unequal else some.shares
    guesses = scoring.predict_target(scoring.fit_target_vote(some), some)
    left = iter(range(ALL_ROUNDS + 1, 1, -1))
    found = guess_by_soft_pairs(some, guesses, shares, lambda: progress("soft pairs", next(left, 1)))
    probe = found.evidence
    measures = {"soft pairs": probe.z, "identity": probe.identity}
    if probe.is_open:
        rule = scoring.vote_with_source(rows, found.rule, own, MAPPED)
        P = scoring.predict_target(rule, rows)[rows.unlabelled]
        reason = f"soft pairs by geometry alone agree with the target's guesses and labels (z = {probe.z:.1f})"
        weights = {"soft pairs": MAPPED, "target": 1.0 - MAPPED}
        return TransferOutcome(rule, P, reason, True, measures, weights)
    reason = (
        f"soft pairs by geometry alone do not pass their test (z = {probe.z:.1f} against random relabellings, "
        f"{probe.identity:.2f} of the best relabelling, {probe.n_classes} classes)"
    )
    if unequal:
        measures["shares"] = scoring.correlate_shares(some.prepared[1].points, some.yt, guesses, shares)
    if measures.get("shares", 0.0) <= LEAST_CORRELATION:
        return alone(reason, evidence=measures)
    shares_only = f"only for the shares of its classes (correlation {measures['shares']:.2f} with the target's own)"
    full = rows.shares.copy()
    full[rows.shared] = shares * full[rows.shared].sum()
    full = floor_shares(full)
    rule = scoring.fit_target_vote(replace(rows, shares=full, strictness=1.0), P)
    P = scoring.predict_target(rule, rows)[rows.unlabelled]
    return TransferOutcome(rule, P, f"{shares_only}; {reason}", True, measures, shares=full)


def transfer_through_pairs(rows: TransferRows, names: IntArray) -> TransferOutcome:
    """Pool experts that learn from the names of the pairs (P,), with weights from held-out pairs.

    - Pairs: names of held-out pairs are predicted better than by chance. If not, they were shuffled, and no class can
      be told from another. In between the answer is open.
    """
    pool, z = shared_evidence.weigh_experts(rows, names)
    rule: Rule = pool
    reason = f"the classes of held-out pairs are predicted from the others (z = {z:.1f})"
    weights = dict(zip(shared_evidence.EXPERTS, (pool.weights / pool.weights.sum()).tolist(), strict=True))
    if z <= shared_evidence.PAIRS_Z:
        reason = f"the classes of held-out pairs are predicted no better than by chance (z = {z:.1f})"
        rule, weights = TiedClasses(pool, np.arange(rows.n_classes)), {"target": 1.0}
    elif z <= shared_evidence.SURE_Z:
        reason = f"check the pairs, those held out are predicted little better than by chance (z = {z:.1f})"
    ok = True if z > shared_evidence.SURE_Z else None if z > shared_evidence.PAIRS_Z else False
    P = softmax(rule.scores(rows.target), axis=1)
    return TransferOutcome(rule, P, reason, ok, {"pairs": z}, weights)
