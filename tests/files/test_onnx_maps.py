"""ONNX files do what ``transform`` does: with onnxruntime, an implementation that shares no code with the library."""

import builtins

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
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    QuantileTransformer,
    StandardScaler,
)

import isthmus
from conftest import make_domains, one_sentence
from isthmus import CCA, ITML, MLHD, InputError, Kernel, MissingDependencyError, RidgeMap, systems, to_onnx
from isthmus.files import export_onnx
from isthmus.landmarks import Landmarks

D = make_domains(seed=103, n_source=45, n_target=40, n_labelled=12, d_source=6, d_target=6)
NEW = make_domains(seed=104, n_source=30, n_target=30, d_source=6, d_target=6)
for X in (D.X_source, D.X_target):
    X -= X.min()  # some systems are for counts, which are never negative
PAIRS = np.stack([np.arange(25), np.arange(25)], axis=1)
ROWS = {"source": np.vstack([NEW.X_source, D.X_source[:5]]), "target": np.vstack([NEW.X_target, D.X_target[:5]])}
KERNELS = ["linear", "rbf", "laplacian", "polynomial", "cosine"]
EVERY = list(systems())


TOLERANCE = 2e-6
"""Of the largest entry: a few times what sums in single precision lose (2e-7 was seen)."""


def run(content, X):
    session = onnxruntime.InferenceSession(content)
    return session.run(["mapped"], {"rows": np.asarray(X, dtype=np.float32)})[0]


def fitted(system):
    estimator = system.make()
    return estimator.fit(*D.args, pairs=PAIRS) if system.needs_pairs else estimator.fit(*D.args)


def has_maps(model):
    return isinstance(getattr(getattr(model, "estimator_", model), "common_space_", None), isthmus.CommonSpace)


def agree(model, domain, X, **options):
    """A batch, and rows alone, as ``transform`` maps the same rows in double precision.

    In single precision it is the less exact of the two: transformers of scikit-learn then lose digits on the way.
    """
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


@pytest.mark.parametrize("system", EVERY, ids=lambda system: system.name)
def test_every_system_with_maps_is_the_same_elsewhere_and_others_say_so(system):
    model = fitted(system)
    if has_maps(model):
        for domain in ROWS:
            agree(model, domain, ROWS[domain])
        return
    with pytest.raises(InputError, match=r"expected a system that maps rows by a matrix or a kernel") as caught:
        to_onnx(model)
    assert one_sentence(caught)


def test_both_kinds_of_systems_are_among_them():
    names = {
        "mlhd": True,
        "arc-rbf": True,
        "ridge": True,
        "mlhd, noise": True,
        "semantic": False,
        "target SVM": False,
    }
    assert {name: has_maps(fitted(systems()[name])) for name in names} == names


def test_the_comparison_sees_one_weight_that_is_off_by_a_hundredth():
    model = MLHD().fit(*D.args)
    X = ROWS["target"].astype(np.float32)
    graph = onnx.load_from_string(to_onnx(model))
    weight = graph.graph.initializer[0]
    W = onnx.numpy_helper.to_array(weight).copy()
    W[0, 0] *= 1.01
    weight.CopyFrom(onnx.numpy_helper.from_array(W, weight.name))
    expected = model.transform(X)
    assert np.abs(run(graph.SerializeToString(), X) - expected).max() > TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("domain", ["source", "target"])
@pytest.mark.parametrize("outside", ["identity", "zero"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_inside_its_span_and_outside(kernel, outside, domain):
    model = MLHD(kernel, kernel, outside=outside).fit(*D.args)
    space = model.common_space_.space(domain)
    if kernel in ("rbf", "laplacian", "polynomial"):  # of the others, features may be coordinates
        assert space.complete == (outside == "zero")
    agree(model, domain, ROWS[domain])
    agree(model, domain, np.zeros((4, 6)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_domain_bent_and_the_other_not(kernel):
    model = MLHD("linear", kernel).fit(*D.args)
    for domain in ROWS:
        agree(model, domain, ROWS[domain])


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_seen_from_landmarks(kernel):
    model = MLHD(Landmarks(kernel, 8), Landmarks(kernel, 20)).fit(*D.args)
    assert model.common_space_.source.dimension <= 8
    for domain in ROWS:
        agree(model, domain, ROWS[domain])


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_projection_to_few_dimensions(kernel):
    model = MLHD(kernel, kernel, n_components=2).fit(*D.args)
    for domain in ROWS:
        agree(model, domain, ROWS[domain])


@pytest.mark.parametrize("kernel", KERNELS)
def test_offsets_and_parts_of_unit_length(kernel):
    model = RidgeMap(kernel, kernel).fit(*D.args, pairs=PAIRS)
    for domain in ROWS:
        agree(model, domain, ROWS[domain])


def test_a_gram_matrix_in_place_of_rows():
    grams = D.X_source @ D.X_source.T, D.X_target @ D.X_target.T
    model = MLHD("precomputed", "precomputed").fit(grams[0], D.y_source, grams[1], D.y_target)
    agree(model, "source", NEW.X_source @ D.X_source.T)
    agree(model, "target", NEW.X_target @ D.X_target.T)


def test_a_fit_to_wide_sparse_rows():
    rng = np.random.default_rng(100)
    X, Y = (sp.random_array((n, 300), density=0.05, rng=rng, format="csr") for n in (45, 40))
    model = MLHD().fit(X, D.y_source, Y, D.y_target)
    assert not model.common_space_.target.complete
    agree(model, "target", sp.random_array((20, 300), density=0.05, rng=rng).toarray())


def test_features_far_from_the_origin():
    X, Y = D.X_source + 1000.0, D.X_target - 500.0
    for kernel in ("rbf", "laplacian"):
        model = MLHD(kernel, kernel).fit(X, D.y_source, Y, D.y_target)
        agree(model, "source", NEW.X_source + 1000.0)


TRANSFORMERS = {
    "standard": StandardScaler(),
    "centre only": StandardScaler(with_std=False),
    "scale only": StandardScaler(with_mean=False),
    "min-max": MinMaxScaler(),
    "clipped": MinMaxScaler(feature_range=(-1, 2), clip=True),
    "max-abs": MaxAbsScaler(),
    "l1": Normalizer("l1"),
    "l2": Normalizer(),
    "max": Normalizer("max"),
    "pca": PCA(4),
    "whitened": PCA(4, whiten=True),
    "svd": TruncatedSVD(4),
    "nothing": FunctionTransformer(),
    "tanh": FunctionTransformer(np.tanh),
    "square": FunctionTransformer(np.square),
    "one after the other": make_pipeline("passthrough", StandardScaler(), PCA(5), Normalizer()),
    "log1p": make_pipeline(FunctionTransformer(np.absolute), FunctionTransformer(np.log1p)),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_transformer_is_a_part_of_the_graph(name):
    own = TRANSFORMERS[name]
    model = MLHD(target_kernel="rbf", source_transformer=own, target_transformer=own).fit(*D.args)
    for domain in ROWS:
        agree(model, domain, ROWS[domain])


def test_missing_values_are_filled_as_the_imputer_does():
    X, new = D.X_target.copy(), ROWS["target"].copy()
    X[::7, 2] = new[::5, 3] = np.nan
    own = make_pipeline(SimpleImputer(), StandardScaler())
    model = MLHD(target_transformer=own).fit(D.X_source, D.y_source, X, D.y_target)
    agree(model, "target", new)


@pytest.mark.parametrize(
    "own",
    [
        QuantileTransformer(n_quantiles=10),
        SimpleImputer(add_indicator=True),
        FunctionTransformer(np.cbrt),
        make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=10)),
    ],
    ids=lambda own: type(own).__name__,
)
def test_what_onnx_cannot_say_is_refused_or_left_to_the_caller(own):
    X = D.X_target.copy()
    model = MLHD(target_transformer=own).fit(D.X_source, D.y_source, X, D.y_target)
    with pytest.raises(InputError, match=r"target_transformer: expected one of StandardScaler, .* got") as caught:
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


def test_other_kernels_are_refused():
    class Cubic(Kernel):
        def gram(self, A, B):
            return (A @ B.T) ** 3

    model = MLHD(target_kernel=Cubic()).fit(*D.args)
    with pytest.raises(InputError, match=r"kernel: expected one of Linear, .* got Cubic") as caught:
        to_onnx(model)
    assert one_sentence(caught)
    agree(model, "source", ROWS["source"])


def test_views_and_parts_of_models():
    model = MLHD().fit(*D.args)
    over_target = MLHD().given_source(D.X_source, D.y_source).fit(D.X_target, D.y_target)
    assert to_onnx(over_target) == to_onnx(model)
    X = NEW.X_target.astype(np.float32)
    np.testing.assert_allclose(run(to_onnx(model.common_space_), X), model.transform(X), atol=1e-4)
    itml = ITML(random_state=0).fit(D.X_source, D.y_source)
    np.testing.assert_allclose(run(to_onnx(itml), NEW.X_source), itml.transform(NEW.X_source), atol=1e-4)
    with pytest.raises(InputError, match="expected one over two domains, got ITML"):
        export_onnx(itml, "nowhere")


def test_a_loaded_model_gives_the_same_file(tmp_path):
    model = MLHD("rbf", "rbf", target_transformer=StandardScaler()).fit(*D.args)
    isthmus.save(model, tmp_path / "model")
    assert to_onnx(isthmus.load(tmp_path / "model")) == to_onnx(model)


def test_both_maps_in_a_folder(tmp_path):
    model = CCA().fit(*D.args)
    written = export_onnx(model, tmp_path / "maps")
    assert [path.name for path in written] == ["source.onnx", "target.onnx"]
    for path, domain in zip(written, ROWS, strict=True):
        assert path.read_bytes() == to_onnx(model, domain)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="folder: expected a folder, got the file"):
        export_onnx(model, tmp_path / "file")
    with pytest.raises(InputError, match="domain: expected one of"):
        to_onnx(model, "both")
    with pytest.raises(NotFittedError):
        export_onnx(CCA(), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_extra_is_named_where_it_is_missing(monkeypatch, tmp_path):
    real, model = builtins.__import__, CCA().fit(*D.args)

    def without(module, *args, **kwargs):
        if module.partition(".")[0] == "onnx":
            raise ImportError(module)
        return real(module, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r'needs onnx.*pip install "isthmus\[onnx\]"'):
        export_onnx(model, tmp_path / "maps")
    assert not list(tmp_path.iterdir())
