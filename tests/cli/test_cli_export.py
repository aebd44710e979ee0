"""``isthmus export``: both maps of a model file, or one sentence and nothing."""

import json

import pytest

import isthmus
from conftest import make_domains
from isthmus.cli.main import main

D = make_domains(seed=103)


@pytest.fixture
def saved(tmp_path):
    def save(model):
        isthmus.save(model, tmp_path / "model.isthmus")
        return str(tmp_path / "model.isthmus")

    return save


def test_both_maps_are_written(saved, tmp_path, capsys):
    model = isthmus.CCA().fit(*D.args)
    out = tmp_path / "maps"
    assert main(["export", saved(model), "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == [str(out / "source.onnx"), str(out / "target.onnx")]
    for domain in ("source", "target"):
        assert (out / f"{domain}.onnx").read_bytes() == isthmus.to_onnx(model, domain)


def test_a_model_without_maps_says_so_and_nothing_is_written(saved, tmp_path, capsys):
    path = saved(isthmus.SemanticMatching().fit(*D.args))
    assert main(["export", path, "-o", str(tmp_path / "maps")]) == 2
    said = capsys.readouterr().err
    assert "expected a system that maps rows by a matrix" in said
    assert said.count("\n") <= 2
    assert not (tmp_path / "maps").exists()
