"""The demo's verdict says what the numbers say, whichever way they fall."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

DEMO = Path(__file__).parents[1] / "examples" / "digits_demo.py"
SPOILT = ("noise features", "permuted labels", "renamed classes")


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("digits_demo", DEMO)
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits_demo"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["digits_demo"]


def scores(true, control, spoilt):
    """Ten splits of known means, each method with its own small scatter."""
    scatter = 0.01 * np.random.default_rng(0).normal(size=(10, 10))
    means = {("1-NN", ""): 0.1, ("label spreading", ""): control}
    means |= {("true source", rule): true for rule in ("source", "both")}
    means |= {(name, rule): spoilt for name in SPOILT for rule in ("source", "both")}
    return {key: mean + row - row.mean() for (key, mean), row in zip(means.items(), scatter, strict=True)}


@pytest.mark.parametrize(
    ("true", "control", "spoilt", "says"),
    [
        (0.9, 0.8, 0.8, "The source helped: +10.0"),
        (0.9, 0.8, 0.9, "but NOT by what the source knows"),
        (0.8, 0.8, 0.7, "There is NO proof that the source helped"),
        (0.7, 0.8, 0.6, "The source did NOT help: -10.0"),
        (0.7, 0.8, 0.6, "MLHD does learn from it, though"),
        (0.7, 0.8, 0.7, "Nor is there proof that it matters what it says"),
    ],
)
def test_verdict(demo, true, control, spoilt, says):
    assert says in demo.verdict(scores(true, control, spoilt))


def test_the_interval_is_students(demo):
    from scipy import stats

    table = scores(0.7, 0.8, 0.6)
    ours = demo.Difference.of(table, ("true source", "source"), ("label spreading", ""))
    points = 100 * (table["true source", "source"] - table["label spreading", ""])
    theirs = stats.ttest_1samp(points, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose([ours.low, ours.high], theirs)


def test_preparation_never_looks_at_test_rows(demo):
    from dataclasses import replace

    pair = demo.load_digits()
    one, other = demo.prepared(pair), demo.prepared(replace(pair, X_test=100.0 * pair.X_test))
    np.testing.assert_array_equal(one.T, other.T)
    np.testing.assert_array_equal(one.S, other.S)


def test_a_spoilt_source_differs_from_the_true_one_only_where_it_should(demo):
    split = demo.prepared(demo.load_digits())
    spoilt = dict(demo.sources(split, seed=0))
    assert spoilt["true source"] is split
    assert not np.array_equal(spoilt["noise features"].S, split.S)
    np.testing.assert_array_equal(spoilt["noise features"].y_source, split.y_source)
    np.testing.assert_array_equal(np.sort(spoilt["permuted labels"].y_source), np.sort(split.y_source))
    renamed = set(zip(split.y_source.tolist(), spoilt["renamed classes"].y_source.tolist(), strict=True))
    assert len(renamed) == 10
    assert all(old != new for old, new in renamed)
    for variant in spoilt.values():
        np.testing.assert_array_equal(variant.T, split.T)


def test_a_picture_appears_whole_or_not_at_all(demo, tmp_path, monkeypatch):
    class Broken:
        def savefig(self, path, **options):
            path.write_bytes(b"half")
            raise KeyboardInterrupt

    monkeypatch.setattr(demo, "plot_before_after", lambda *args, **options: Broken())
    with pytest.raises(KeyboardInterrupt):
        demo.draw(demo.prepared(demo.load_digits()), None, tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []
