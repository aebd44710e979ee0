"""ONNX files do what ``transform`` does: with onnxruntime, an implementation that shares no code with the library."""

import sys

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

import isthmus
from conftest import make_domains, one_sentence
from isthmus import CCA, ITML, MLHD, InputError, MissingDependencyError, RidgeMap, systems, to_onnx
from isthmus.geometry.kernels import Landmarks, Linear

D = make_domains(seed=103, n_source=45, n_target=40, n_labelled=12, d_source=6, d_target=6)
NEW = make_domains(seed=104, n_source=30, n_target=30, d_source=6, d_target=6)
for X in (D.X_source, D.X_target):
    X -= X.min()  # some systems are for counts, which are never negative
PAIRS = np.stack([np.arange(25), np.arange(25)], axis=1)
ROWS = {"source": np.vstack([NEW.X_source, D.X_source[:5]]), "target": np.vstack([NEW.X_target, D.X_target[:5]])}
TOLERANCE = 2e-6
"""Of the largest entry: a few times what sums in single precision lose (5e-7 was seen)."""


def run(content, X):
    session = onnxruntime.InferenceSession(content)
    return session.run(["mapped"], {"rows": np.asarray(X, dtype=np.float32)})[0]


def fitted(system):
    estimator = system.make()
    return estimator.fit(*D.args, pairs=PAIRS) if system.needs_pairs else estimator.fit(*D.args)


def is_affine(model):
    """Whether a model has a common space with linear kernels."""
    space = getattr(getattr(model, "estimator_", model), "common_space_", None)
    if not isinstance(space, isthmus.CommonSpace):
        return False
    return all(isinstance(space.space(domain).kernel, Linear) for domain in ROWS)


def agree(model, domain, X, **options):
    """A batch, and rows alone, are what ``transform`` makes of the same rows in double precision."""
    X = np.asarray(X, dtype=np.float32)
    expected = model.transform(X.astype(np.float64), domain)
    content = to_onnx(model, domain, **options)
    scale = np.abs(expected).max()
    mapped = run(content, X)
    assert mapped.dtype == np.float32
    assert mapped.shape == expected.shape
    np.testing.assert_allclose(mapped, expected, atol=TOLERANCE * scale)
    alone = np.vstack([run(content, X[i : i + 1]) for i in range(3)])
    np.testing.assert_allclose(alone, mapped[:3], atol=TOLERANCE * scale)


@pytest.mark.parametrize("system", list(systems()), ids=lambda system: system.name)
def test_every_affine_system_is_the_same_elsewhere_and_others_say_so(system):
    model = fitted(system)
    if is_affine(model):
        for domain in ROWS:
            agree(model, domain, ROWS[domain])
        return
    with pytest.raises(
        InputError, match=r"^model: expected (a system that maps rows by a matrix|the linear kernel)"
    ) as caught:
        to_onnx(model)
    assert one_sentence(caught)


def test_both_kinds_of_systems_are_among_them():
    names = {
        "mlhd": True,
        "ridge": True,
        "mlhd, noise": True,
        "arc-rbf": False,
        "semantic": False,
        "target SVM": False,
    }
    assert {name: is_affine(fitted(systems()[name])) for name in names} == names


def test_the_comparison_sees_one_weight_that_is_off_by_a_hundredth():
    model = MLHD().fit(*D.args)
    X = ROWS["target"].astype(np.float32)
    graph = onnx.load_from_string(to_onnx(model))
    weight = next(each for each in graph.graph.initializer if each.name == "W")
    W = onnx.numpy_helper.to_array(weight).copy()
    W[0, 0] *= 1.01
    weight.CopyFrom(onnx.numpy_helper.from_array(W, weight.name))
    expected = model.transform(X)
    assert np.abs(run(graph.SerializeToString(), X) - expected).max() > TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "cosine"])
def test_a_curved_kernel_is_refused_where_it_is(kernel):
    model = MLHD("linear", kernel, outside="zero").fit(*D.args)
    agree(model, "source", ROWS["source"])
    with pytest.raises(
        InputError, match=r"^model: expected the linear kernel for ONNX, got .* in the target\.$"
    ) as caught:
        to_onnx(model)
    assert one_sentence(caught)


def test_landmarks_offsets_parts_and_a_projection():
    models = [
        MLHD(Landmarks("linear", 4), Landmarks("linear", 20), outside="zero").fit(*D.args),
        MLHD(n_components=2).fit(*D.args),
        RidgeMap().fit(*D.args, pairs=PAIRS),
    ]
    assert models[2].common_space_.parts
    assert models[2].common_space_.offsets is not None
    for model in models:
        for domain in ROWS:
            agree(model, domain, ROWS[domain])


def test_a_part_of_length_zero_stays_zero():
    space = isthmus.CommonSpace(
        isthmus.geometry.spaces.FeatureSpace(2),
        isthmus.geometry.spaces.FeatureSpace(2),
        np.vstack([np.eye(2)] * 2),
        parts=(1, 1),
    )
    assert run(to_onnx(space), [[0.0, -3.0], [0.0, 0.0]]).tolist() == [[0.0, -1.0], [0.0, 0.0]]


def test_lengths_outside_the_span_are_no_affine_map():
    rng = np.random.default_rng(100)
    X, Y = (sp.random_array((n, 300), density=0.05, rng=rng, format="csr") for n in (45, 40))
    model = MLHD().fit(X, D.y_source, Y, D.y_target)
    assert not model.common_space_.target.complete
    with pytest.raises(InputError, match=r"outside the span of the target rows; set outside='zero'") as caught:
        to_onnx(model)
    assert one_sentence(caught)
    agree(
        MLHD(outside="zero").fit(X, D.y_source, Y, D.y_target),
        "target",
        sp.random_array((20, 300), density=0.05, rng=rng).toarray(),
    )


TRANSFORMERS = {
    "standard": StandardScaler(),
    "centre only": StandardScaler(with_std=False),
    "scale only": StandardScaler(with_mean=False),
    "min-max": MinMaxScaler(feature_range=(-1, 2)),
    "max-abs": MaxAbsScaler(),
    "pca": PCA(4),
    "whitened": PCA(4, whiten=True),
    "svd": TruncatedSVD(4),
    "nothing": FunctionTransformer(),
    "one after the other": make_pipeline("passthrough", MinMaxScaler((1, 3)), PCA(5, whiten=True), StandardScaler()),
}


CENTRED = ["standard", "centre only", "min-max", "pca", "whitened", "one after the other"]


@pytest.mark.parametrize(
    ("name", "shift"), [(name, 0.0) for name in TRANSFORMERS] + [(name, 1e3) for name in CENTRED]
)
def test_the_scaler_is_a_part_of_the_map(name, shift):
    own = TRANSFORMERS[name]
    d = D.X_source + shift, D.y_source, D.X_target - shift, D.y_target
    model = MLHD(source_transformer=own, target_transformer=own).fit(*d)
    agree(model, "source", ROWS["source"] + shift)
    agree(model, "target", ROWS["target"] - shift)


@pytest.mark.parametrize(
    "own",
    [
        MinMaxScaler(clip=True),
        SimpleImputer(),
        Normalizer(),
        FunctionTransformer(np.cbrt),
        make_pipeline(StandardScaler(), FunctionTransformer(np.tanh)),
    ],
    ids=lambda own: type(own).__name__,
)
def test_what_is_not_affine_is_refused_or_left_to_the_caller(own):
    model = MLHD(target_transformer=own).fit(*D.args)
    with pytest.raises(InputError, match=r"target_transformer: expected StandardScaler, .* got") as caught:
        to_onnx(model, "target")
    assert one_sentence(caught)
    after = model.transformers_["target"].transform(NEW.X_target)
    mapped = run(to_onnx(model, "target", transformed=True), after)
    np.testing.assert_allclose(mapped, model.transform(NEW.X_target), atol=1e-4)


def test_words_are_left_to_the_caller():
    texts = ["red apple", "green apple", "red car", "fast car", "green pear", "slow car"] * 5
    own = make_pipeline(TfidfVectorizer())
    model = CCA(target_transformer=own).fit(D.X_source, D.y_source, texts, np.tile([0, 0, 1, 1, 2, 2], 5))
    with pytest.raises(InputError, match=r"got TfidfVectorizer\(\)"):
        to_onnx(model)
    rows = model.transformers_["target"].transform(texts).toarray()
    np.testing.assert_allclose(run(to_onnx(model, transformed=True), rows), model.transform(texts), atol=1e-4)


def test_views_and_parts_of_models():
    model = MLHD().fit(*D.args)
    over_target = MLHD().given_source(D.X_source, D.y_source).fit(D.X_target, D.y_target)
    assert to_onnx(over_target) == to_onnx(model)
    X = NEW.X_target.astype(np.float32)
    np.testing.assert_allclose(run(to_onnx(model.common_space_), X), model.transform(X), atol=1e-4)
    itml = ITML(random_state=0).fit(D.X_source, D.y_source)
    np.testing.assert_allclose(run(to_onnx(itml), NEW.X_source), itml.transform(NEW.X_source), atol=1e-4)


def test_a_loaded_model_gives_the_same_file(tmp_path):
    model = MLHD(target_transformer=StandardScaler()).fit(*D.args)
    isthmus.save(model, tmp_path / "model")
    assert to_onnx(isthmus.load(tmp_path / "model")) == to_onnx(model)


def test_what_has_no_map_is_refused():
    with pytest.raises(InputError, match="domain: expected one of"):
        to_onnx(CCA().fit(*D.args), "both")
    with pytest.raises(NotFittedError):
        to_onnx(CCA())


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    model = CCA().fit(*D.args)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r'needs onnx.*pip install "isthmus\[onnx\]"'):
        to_onnx(model)
