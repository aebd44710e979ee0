"""Feature augmentation: the copies of Daumé, and any classifier on them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from conftest import make_domains, one_sentence
from isthmus import FeatureAugmentation, InputError, systems

D = make_domains(seed=3, d_source=5, d_target=5)
KNOWN = D.y_target >= 0


def augmented(X, Y):
    return np.vstack([np.hstack([X, X, 0 * X]), np.hstack([Y, 0 * Y, Y])])


def test_it_is_an_svm_on_the_copies():
    model = FeatureAugmentation(rule=SVC(kernel="linear")).fit(*D.args)
    rows = augmented(D.X_source, D.X_target[KNOWN])
    svm = SVC(kernel="linear").fit(rows, np.concatenate([D.y_source, D.y_target[KNOWN]]))
    new = make_domains(seed=8, d_target=5).X_target
    copies = np.hstack([new, 0 * new, new])
    np.testing.assert_array_equal(model.transform(new), copies)
    np.testing.assert_array_equal(model.predict(new), svm.predict(copies))
    np.testing.assert_allclose(model.decision_function(new), svm.decision_function(copies))


def test_as_a_metric_it_is_the_same_for_all_data():
    M = FeatureAugmentation().fit(*D.args).get_mahalanobis_matrix()
    np.testing.assert_array_equal(M, np.kron([[2.0, 1.0], [1.0, 2.0]], np.eye(5)))


def test_too_many_columns_are_refused_before_a_table_is_made_of_them():
    X = sp.csr_array((np.ones(30), (np.arange(30), np.arange(30))), shape=(30, 5000))
    with pytest.raises(InputError, match="X_source: expected at most 4096 columns, of which three copies are made"):
        FeatureAugmentation().fit(X, D.y_source, X[:20], D.y_target)


def test_different_features_are_refused_in_one_sentence():
    with pytest.raises(InputError, match="X_target: expected the 5 columns of X_source, got 4; MLHD") as caught:
        FeatureAugmentation().fit(D.X_source, D.y_source, D.X_target[:, :4], D.y_target)
    assert one_sentence(caught)


@pytest.mark.parametrize("name", [system.name for system in systems() if system.equal_features])
def test_columns_of_other_names_or_in_another_order_are_no_equal_features(name):
    model, source = systems()[name].make(), pd.DataFrame(D.X_source, columns=list("abcde"))
    for columns in ("baced", "fghij"):
        target = pd.DataFrame(D.X_target, columns=list(columns))
        with pytest.raises(InputError, match="X_target: expected the columns of X_source in their order") as caught:
            model.fit(source, D.y_source, target, D.y_target)
        assert one_sentence(caught)
    same = pd.DataFrame(D.X_target, columns=list("abcde"))
    expected = systems()[name].make().fit(*D.args).transform(D.X_target)
    found = model.fit(source, D.y_source, same, D.y_target).transform(same)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)  # frames may be stored by columns
