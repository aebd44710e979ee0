"""Shared columns as evidence for classes: true ones teach, spoilt ones change nothing at all."""

import numpy as np
import pytest

from isthmus import ARC, LabelTransfer, SemanticMatching
from isthmus.data.shared_columns import SharedColumns
from isthmus.estimators.controls import Corrupted
from isthmus.exceptions import InputError
from isthmus.tasks.transfer.shared_evidence import make_shared_features


def tables(seed=0, C=6, per_class=30, labels=1, noise=2.0):
    """Return two domains with own features of little use, and noisy shared ones; labels, and all classes."""
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(C), per_class)
    own = [rng.normal(size=(C, d))[y] + noise * rng.normal(size=(len(y), d)) for d in (12, 15)]
    means = 1.5 * rng.normal(size=(C, 8))
    S, T = (means[y] + noise * rng.normal(size=(len(y), 8)) for _ in range(2))
    yt = np.where(np.arange(len(y)) < labels * C, y, -1)
    return own[0], y, own[1], yt, (S, T)


def test_shared_columns_teach_and_new_rows_need_none():
    Xs, y, Xt, yt, (S, T) = tables()
    free = yt < 0
    without = LabelTransfer().fit(Xs, y, Xt, yt)
    model = LabelTransfer().fit(Xs, y, Xt, yt, shared=(S, T))
    assert model.weights_ == {"shared columns": 1.0}
    assert "what both have in common" in model.verdict_
    alone = np.mean(without.predict(Xt[free]) == y[free])
    own, both = (np.mean(model.predict(Xt[free], shared=part) == y[free]) for part in (None, T[free]))
    assert both > own > alone + 0.1


@pytest.mark.parametrize("kind", ["permuted rows", "renamed", "permuted labels"])
def test_a_spoilt_block_leaves_everything_as_it_was(kind):
    Xs, y, Xt, yt, (S, T) = tables()
    rng = np.random.default_rng(1)
    if kind == "permuted rows":
        T = T[rng.permutation(len(T))]
    ys = {"renamed": (y + 1) % 6, "permuted labels": rng.permutation(y)}.get(kind, y)
    model, without = LabelTransfer().fit(Xs, ys, Xt, yt, shared=(S, T)), LabelTransfer().fit(Xs, ys, Xt, yt)
    np.testing.assert_array_equal(model.predict_proba(Xt, shared=T), without.predict_proba(Xt))
    assert model.evidence_["shared columns"] < 2.5 or model.evidence_["shared and own columns"] < 0.15


def test_columns_become_terms_and_numbers():
    columns = SharedColumns.of(
        {"name": ["red hat", "blue hat", ""], "price": ["1.5", "2.5", "9"]},
        {"name": ["red hats", "green"], "price": ["1.5", None]},
    )
    shared = make_shared_features(columns)
    S, T = (X.toarray() for X in (shared.source, shared.target))
    assert (S @ T[0]).argmax() == 0  # the same words, and the same price
    assert np.isfinite(S).all()
    assert S.shape[1] == T.shape[1]
    numbers = make_shared_features(SharedColumns.of({"a": [1, 2]}, {"a": [3, 4]}))
    np.testing.assert_allclose(np.abs(np.vstack([numbers.source, numbers.target])), 1.0)


def test_frames_share_columns_by_name():
    pandas = pytest.importorskip("pandas")
    Xs, y, Xt, yt, (S, T) = tables()
    frames = [
        pandas.DataFrame(
            np.hstack([X, B]), columns=[*(f"{side}{i}" for i in range(X.shape[1])), *(f"c{i}" for i in range(8))]
        )
        for side, X, B in (("s", Xs, S), ("t", Xt, T))
    ]
    model = LabelTransfer().fit(frames[0], y, frames[1], yt, shared="auto")
    assert model.weights_ == {"shared columns": 1.0}


def test_wrong_shared_columns_get_one_sentence():
    Xs, y, Xt, yt, (S, T) = tables()
    with pytest.raises(InputError, match="shared: expected None, as ARC has no use for it"):
        ARC().fit(Xs, y, Xt, yt, shared=(S, T))
    with pytest.raises(InputError, match="rows, as X_target has"):
        LabelTransfer().fit(Xs, y, Xt, yt, shared=(S, T[1:]))
    model = LabelTransfer().fit(Xs, y, Xt, yt, shared=(S, T))
    with pytest.raises(
        InputError, match="shared: expected 180 rows, as X has, of 8 columns, as in the fit, got 2 of 8"
    ):
        model.predict(Xt, shared=T[:2])
    with pytest.raises(InputError, match="of 8 columns, as in the fit, got 180 of 3"):
        model.predict(Xt, shared=T[:, :3])


def test_a_corrupted_source_keeps_its_shared_columns():
    Xs, y, Xt, yt, (S, T) = tables()
    found = Corrupted(LabelTransfer(), "renamed", random_state=0).fit(Xs, y, Xt, yt, shared=(S, T))
    assert "shared columns" in found.estimator_.evidence_
    assert "shared columns" not in found.estimator_.weights_


def test_semantic_matching_searches_by_what_shared_columns_taught():
    Xs, y, Xt, yt, shared = tables()
    free = yt < 0
    found = {}
    for name, given in (("without", None), ("with", shared)):
        model = SemanticMatching().fit(Xs, y, Xt, yt, shared=given)
        found[name] = np.mean(y[model.kneighbors(Xt[free], 10)[1]] == y[free][:, None])
    assert found["with"] > found["without"] + 0.1
