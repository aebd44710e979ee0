"""Files of AnnData and MuData on the command line: in and out."""

import numpy as np
import pytest

from isthmus.cli.main import main

pytestmark = pytest.mark.filterwarnings("ignore:var_names are not unique")


@pytest.fixture
def cells(tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata", reason="the extra is not installed")
    mudata = pytest.importorskip("mudata", reason="the extra is not installed")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    A = rng.gamma(0.3, size=(80, 8)) @ rng.normal(size=(8, 20))
    B = (A @ rng.normal(size=(20, 15)))[::-1]
    both = {"rna": A / A.std(axis=0), "atac": B / B.std(axis=0)}
    objects = {name: anndata.AnnData(X) for name, X in both.items()}
    for name, data in objects.items():
        order = range(80) if name == "rna" else range(79, -1, -1)
        data.obs_names = [f"{name} {i}" for i in order]
        data.layers["raw"] = data.X.copy()
        data.write_h5ad(f"{name}.h5ad")
    mudata.MuData(objects).write("cells.h5mu")
    return mudata


@pytest.mark.parametrize(("a", "b"), [("rna.h5ad", "atac.h5ad"), ("cells.h5mu/rna", "cells.h5mu/atac")])
def test_both_files_come_out_as_one_with_the_partners(cells, capsys, a, b):
    assert main(["match", a, b, "-o", "matched.h5mu", "--all", "--jobs", "1"]) == 0
    assert "Both files are in matched.h5mu, with 80 matches in obs" in capsys.readouterr().out
    found = cells.read("matched.h5mu")
    assert [*found.mod] == ["rna", "atac"]
    for name, other in (("rna", "atac"), ("atac", "rna")):
        partner = found[name].obs["isthmus_partner"]
        assert [*partner] == [f"{other} {row.split()[1]}" for row in partner.index]
        assert "raw" in found[name].layers
        assert "80 pairs of 80 and 80 rows" in found[name].uns["isthmus"]["verdict"]


def test_the_table_of_matches_of_modalities_is_that_of_their_files(cells, capsys):
    tables = []
    for names in (("rna.h5ad", "atac.h5ad"), ("cells.h5mu/rna", "cells.h5mu/atac")):
        assert main(["match", *names, "-o", "matches.csv", "--all", "--jobs", "1"]) == 0
        with open("matches.csv", encoding="utf-8") as file:
            tables.append(file.read())
    assert tables[0] == tables[1]
    rows = [line.split(",")[:2] for line in tables[0].splitlines()[1:]]
    assert len(rows) == 80
    assert all(a == f"rna {b.split()[1]}" for a, b in rows)


WRONG = [
    (
        ["cells.h5mu/rna", "a.csv", "-o", "x.h5mu"],
        "x.h5mu: expected .h5ad or .h5mu files to write it from, got a.csv.",
    ),
    (
        ["cells.h5mu/rna", "atac.h5ad", "-o", "cells.h5mu"],
        "expected an output other than the inputs, got one of them",
    ),
    (
        ["cells.h5mu", "atac.h5ad"],
        "cells.h5mu: expected one of its modalities, as in FILE.h5mu/NAME, got no name; it",
    ),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG)
def test_what_is_wrong_is_said_before_the_work(cells, capsys, words, sentence):
    assert main(["match", *words]) == 2
    assert sentence in capsys.readouterr().err
