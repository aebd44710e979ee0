"""The preparation of either domain belongs to the system: any transformer of scikit-learn, fitted to all rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from conftest import each_system, make_domains
from isthmus import MLHD, InputError, systems
from isthmus.data.splits import SemiSupervisedSplit

D = make_domains(d_source=7, n_source=21, n_target=15)
TRANSFORMED = [system for system in systems() if "target_transformer" in system.make().get_params()]


def test_every_system_that_is_not_a_wrapper_takes_transformers():
    assert {system.name for system in systems()} - {system.name for system in TRANSFORMED} == {
        "mlhd, noise",
        "mlhd, permuted",
        "mlhd, renamed",
    }


@each_system(TRANSFORMED)
def test_a_transformer_inside_is_the_same_as_one_before(system):
    source, target = make_pipeline(StandardScaler(), PCA(3)), StandardScaler(with_std=False)
    if system.equal_features:
        target = make_pipeline(StandardScaler(), PCA(3))
    if system.non_negative:
        source, target = make_pipeline(MinMaxScaler(), MaxAbsScaler()), MinMaxScaler(clip=True)
    pairs = np.c_[np.arange(15), np.arange(15)] if system.needs_pairs else None
    inside = system.make().set_params(source_transformer=source, target_transformer=target)
    inside.fit(*D.args, pairs=pairs)
    S, T = clone(source).fit(D.X_source), clone(target).fit(D.X_target)  # all rows, labelled or not
    rows = S.transform(D.X_source), D.y_source, T.transform(D.X_target), D.y_target
    before = system.make().fit(*rows, pairs=pairs)
    new = D.X_target[:7] if system.transductive else make_domains(seed=5).X_target
    np.testing.assert_array_equal(inside.predict(new), before.predict(T.transform(new)))
    np.testing.assert_allclose(inside.transform(new), before.transform(T.transform(new)), atol=1e-10)
    assert not {"components_", "scale_"} & set(vars(source[-1]))  # the caller's own is not fitted


def test_rows_can_be_whatever_the_transformer_takes():
    texts = ["the cat sat", "a cat ran", "dogs bark", "a dog barked", "cat and cat", "dog and dogs"]
    labels = ["cat", "cat", "dog", "dog", "cat", "dog"]
    X, y = np.array([[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.9, 0.2]]), ["cat", None, "dog", None]
    model = MLHD(source_transformer=TfidfVectorizer(), target_transformer=StandardScaler()).fit(texts, labels, X, y)
    assert model.predict(X).tolist() == ["cat", "cat", "dog", "dog"]
    assert model.transform(["a new cat"], domain="source").shape == (1, model.common_space_.dimension)
    # And the other way round, as an estimator over a target of texts.
    over = MLHD(target_transformer=TfidfVectorizer()).given_source(X, ["cat", "cat", "dog", "dog"])
    known = ["cat", None, "dog", None, None, None]
    assert over.fit(np.array(texts)[:, None].ravel().tolist(), known).predict(["dogs bark"]).tolist() == ["dog"]


def test_parameters_of_a_transformer_are_searched_like_others():
    over = MLHD(target_transformer=PCA()).given_source(D.X_source, D.y_source)
    grid = {"estimator__target_transformer__n_components": [2, 5]}
    search = GridSearchCV(over, grid, cv=SemiSupervisedSplit(2)).fit(D.X_target, D.y_target)
    assert len(search.cv_results_["params"]) == 2


@pytest.mark.parametrize(
    ("transformer", "X", "message"),
    [
        ("scale", D.X_target, "target_transformer: expected None or an object with fit and transform, got 'scale'"),
        (
            StandardScaler,
            D.X_target,
            "target_transformer: expected None or an object with fit and transform, got <class",
        ),
        (StandardScaler(), [["a"]] * 15, "X_target: expected rows that StandardScaler can take, got '"),
        (PCA(50), D.X_target, "X_target: expected rows that PCA can take, got '"),
    ],
)
def test_a_bad_transformer_is_one_sentence_and_nothing_is_fitted(transformer, X, message):
    model = MLHD(target_transformer=transformer)
    with pytest.raises(InputError, match=message):
        model.fit(D.X_source, D.y_source, X, D.y_target)
    assert not hasattr(model, "classes_")


def test_new_rows_that_a_transformer_can_not_take_are_one_sentence():
    model = MLHD(target_transformer=StandardScaler()).fit(*D.args)
    with pytest.raises(InputError, match="X: expected rows that StandardScaler can take, got '"):
        model.predict(np.ones((2, 3)))
