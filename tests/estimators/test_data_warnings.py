"""Data that a method does badly on: told once, by one sentence, and not where it does not matter."""

import warnings

import numpy as np
import pytest

from conftest import make_domains
from isthmus import ARC, CCA, MLHD, InputError, Saenko
from isthmus.exceptions import DataWarning

D = make_domains(d_source=7)
S, T = D.X_source - D.X_source.mean(axis=0), D.X_target - D.X_target.mean(axis=0)


def complaints(model, X_source=S, X_target=T, y_target=D.y_target):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X_source, D.y_source, X_target, y_target)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught if issubclass(w.category, DataWarning)]


@pytest.mark.parametrize("model", [MLHD(), ARC(), CCA(), Saenko(), MLHD("rbf", "rbf")], ids=repr)
def test_good_data_pass_in_silence(model):
    assert complaints(model) == []


@pytest.mark.parametrize("model", [MLHD(), ARC(), MLHD("rbf", "linear")], ids=repr)
def test_uncentred_features_are_told_once(model):
    (text,) = complaints(model, X_target=T + 10.0)
    assert text.startswith("X_target: the mean is far from the origin")
    assert "target_transformer=StandardScaler()" in text


@pytest.mark.parametrize("model", [CCA(), Saenko(), MLHD("rbf", "rbf")], ids=repr)
def test_where_the_origin_does_not_matter_it_is_not_told(model):
    assert complaints(model, S + 10.0, T + 10.0) == []


def test_one_column_that_drowns_the_others_is_told():
    (text,) = complaints(MLHD(), S * np.array([1, 1, 1e4, 1, 1, 1, 1]))
    assert text.startswith("X_source: column 2 has 100.00% of the variance; bring")


def test_constant_columns_are_told():
    (text,) = complaints(MLHD(), np.hstack([np.zeros((30, 2)), S]))
    assert text == "X_source: 2 of 9 columns are constant (0, 1) and say nothing."


def test_classes_without_a_labelled_target_row_are_told():
    (text,) = complaints(MLHD("rbf", "rbf"), y_target=np.where(D.y_target == 2, -1, D.y_target))
    assert text.startswith("y_target: 1 of 3 classes have no labelled row (2);")


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial", "cosine"])
@pytest.mark.parametrize("system", [MLHD, ARC])
@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e200, 1e-200])
def test_features_that_leave_no_room_for_products_are_refused(system, kernel, scale):
    """Overflow and underflow end in one sentence, not in a LinAlgError and not in a result."""
    for args in ((S * scale, D.y_source, T, D.y_target), (S, D.y_source, T * scale, D.y_target)):
        model = system(kernel, kernel)
        with pytest.raises(InputError, match=r"X_(source|target): expected features whose largest is between"):
            model.fit(*args)
        assert not hasattr(model, "classes_")


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
def test_new_rows_that_leave_no_room_are_refused_too(kernel):
    model = MLHD(kernel, kernel).fit(S, D.y_source, T, D.y_target)
    for method in (model.predict, model.transform, model.kneighbors):
        with pytest.raises(InputError, match=r"X: expected features whose largest is .* got .*e\+20"):
            method(T * 1e200)
    assert np.isfinite(model.transform(T * 1e-200)).all()


@pytest.mark.parametrize("scale", [1e50, 1e-50])
def test_far_from_ordinary_scales_still_give_the_same_metric(scale):
    here = MLHD(alignment="constraint").fit(S, D.y_source, T, D.y_target)
    there = MLHD(alignment="constraint").fit(S * scale, D.y_source, T * scale, D.y_target)
    np.testing.assert_allclose(
        there.pairwise_distances(S * scale, T * scale) / scale, here.pairwise_distances(S, T), rtol=1e-3
    )
    assert there.result_.status.value == "optimal"


@pytest.mark.parametrize(("ratio", "told"), [(0.9, False), (1.1, True)])
def test_a_mean_is_off_centre_from_one_spread_on(ratio, told):
    shift = np.zeros(7)
    shift[0] = np.sqrt(ratio * T.var(axis=0).sum())
    assert bool(complaints(MLHD(), X_target=T + shift)) is told


@pytest.mark.parametrize(("share", "told"), [(0.9985, False), (0.9995, True)])
def test_a_column_drowns_the_others_from_999_in_a_thousand_on(share, told):
    scaled = S / S.std(axis=0)  # seven columns of variance one
    scaled[:, 0] *= np.sqrt(6 * share / (1 - share))
    assert bool(complaints(MLHD(), scaled)) is told


@pytest.mark.parametrize(("size", "refused"), [(1e59, False), (1e61, True), (1e-59, False), (1e-61, True)])
def test_the_room_for_features_ends_at_sixty_decades(size, refused):
    scaled = T / np.abs(T).max() * size
    if refused:
        with pytest.raises(InputError, match="expected features whose largest is between 1e-60 and 1e\\+60"):
            CCA().fit(S, D.y_source, scaled, D.y_target)
    else:
        CCA().fit(S, D.y_source, scaled, D.y_target)
