"""Tasks other than calling rows by their class, and entrants that take part in some trials only."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from isthmus.exceptions import InputError
from isthmus.study.design import Entrant
from isthmus.study.records import RecordStore
from isthmus.study.study import RunPlan, Study
from isthmus.study.trial_rows import Trial
from studies.datasets.toy import load_toy


class Guess(BaseEstimator):
    """Remembers the mean of what it was shown, and has no predict."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, values):
        self.mean_ = float(np.mean(values)) + self.shift
        return self


@dataclass(frozen=True)
class Near:
    """How near a guess is to the mean of values that it was not shown, from 0 to 1."""

    width: float = 1.0
    measure = "nearness"
    needs = ()

    def fit(self, model, rows):
        model.fit(rows[0])

    def score(self, entrant, column, fit):
        read = entrant.readings.get(column, lambda mean: mean)
        error = abs(read(fit.model.mean_) - np.mean(fit.rows[1]))
        return max(0.0, 1.0 - error / self.width), {"error": float(error)}

    def agreement(self, entrant, column, fit):
        return None


def values(trial):
    rng = np.random.default_rng([trial.seed, len(trial.group)])
    return rng.random(50), rng.random(50)


def doubled(mean):
    return 2.0 * mean


STUDY = Study(
    "near",
    values,
    (Entrant("guess", Guess, readings={"doubled": doubled}), Entrant("shifted", Guess(0.3), groups=("a",))),
    groups=("a", "bb"),
    variants={"v": "", "w": ""},
    task=Near(),
)


def test_a_task_fits_and_scores_in_its_own_way():
    board = STUDY.run(range(4), variants=("v",))
    expected = [
        [1 - abs(np.subtract(*map(np.mean, values(Trial(g, "v", s))))) for s in range(4)] for g in ("a", "bb")
    ]
    np.testing.assert_allclose(board.scores("guess"), expected, atol=1e-4)
    np.testing.assert_allclose(board.figures("guess", "error"), 1 - np.array(expected), atol=1e-4)
    assert (board.figures("doubled", "error") > board.figures("guess", "error")).all()
    assert board.table().title == "near, nearness in per cent"


def test_an_entrant_takes_part_where_it_is_named_and_nowhere_else(tmp_path):
    board = STUDY.run([0], folder=tmp_path)
    assert np.isfinite(board.scores("shifted")).tolist() == [[True], [False]]
    keys = RecordStore(tmp_path, "near").read()
    assert {key[1] for key in keys if key[4] == "shifted"} == {"a"}
    assert len(keys) == len(RunPlan(STUDY, ("v", "w"), ("default",), (0,)).fingerprints) == 2 * (3 + 2)
    only = replace(STUDY, entrants=(replace(STUDY.entrants[0], variants=("w",)), STUDY.entrants[1]))
    assert list(only.cells(("default",), "bb", "v")) == []
    assert [name for name, _ in only.cells(("default",))] == ["guess", "doubled", "shifted"]


def test_a_system_without_what_the_task_needs_is_refused_at_once():
    with pytest.raises(InputError, match=r"guess: expected an estimator with predict, got Guess\(\)\."):
        Study.of(load_toy, [Entrant("guess", Guess)])


def test_records_of_another_task_are_not_reused():
    first, second = (study.fingerprint("v", "guess", "default") for study in (STUDY, replace(STUDY, task=Near(2.0))))
    assert first != second
