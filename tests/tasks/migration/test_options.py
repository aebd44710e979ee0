"""The comparison on queries: right where the answer is known, and blind to what a map has learned."""

import json

import numpy as np
import pytest

import isthmus
from conftest import one_sentence
from isthmus import InputError
from isthmus.cli.main import main
from isthmus.tasks.migration.options import BRIDGE, CONVERT, KEEP, REEMBED, measure_relevance, nearest_places

N, ASKED = 150, 60


def make_case(noise_old, noise_new, related=True, seed=0):
    """Rows and queries of two models whose queries are blurred by different amounts; query i is for row i."""
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=(N, 15))
    A, B = (rng.normal(size=(15, d)) for d in (20, 24))
    if not related:
        other = rng.normal(size=(N, 15))
    old, new = meaning @ A, (meaning if related else other) @ B
    blur = rng.normal(size=(ASKED, 15))
    q_old = (meaning[:ASKED] + noise_old * blur) @ A
    q_new = ((meaning if related else other)[:ASKED] + noise_new * blur) @ B
    return old, new, (q_old, q_new), np.repeat(np.arange(ASKED), 2).reshape(-1, 2)


def compare(case, **given):
    old, new, queries, judgements = case
    return isthmus.migrate(old, new, queries=queries, judgements=judgements, kind="ridge", **given)


@pytest.fixture(scope="module")
def better_old():
    return compare(make_case(0.0, 3.0))


def test_the_better_model_is_kept_or_embedded(better_old):
    assert better_old.options.verdict.name == KEEP
    assert better_old.advice.action == KEEP
    assert better_old.ok is False
    unrelated = compare(make_case(3.0, 0.0, related=False))
    assert unrelated.options.verdict.name == REEMBED
    assert "recall@10 of 60 queries among 150 rows" in unrelated.sentence
    assert "threshold()" in unrelated.sentence


def test_exact_maps_need_no_embedding():
    options = compare(make_case(3.0, 0.0)).options
    # The spaces are linear images of one another, so mapped queries are as good as embedded rows.
    assert options.find(CONVERT).quality == pytest.approx(options.find(REEMBED).quality, abs=0.01)
    assert options.verdict.name in (BRIDGE, CONVERT)
    assert options.verdict.rows == 0


def test_a_map_never_scores_what_it_has_learned():
    # As many coordinates as rows: a map of all pairs would be exact on them although the models are unrelated.
    rng = np.random.default_rng(1)
    old, new = rng.normal(size=(60, 80)), rng.normal(size=(60, 90))
    pairs = np.repeat(np.arange(60), 2).reshape(-1, 2)
    options = isthmus.migrate(old, new, queries=(old, new), judgements=pairs, kind="ridge").options
    assert options.find(KEEP).recall.value == options.find(REEMBED).recall.value == 1.0
    assert options.find(BRIDGE).recall.value < 0.4
    assert options.find(CONVERT).recall.value < 0.4


def test_without_judgements_nothing_is_said_against_embedding():
    old, new, queries, _ = make_case(0.5, 0.5)
    options = isthmus.migrate(old, new, queries=queries, kind="ridge").options
    assert options.find(REEMBED).recall.value == 1.0
    assert not options.judged
    assert options.verdict.rows == 0
    assert options.sentence.startswith("until the index is re-embedded")


def test_costs_count_the_rows_of_the_whole_index():
    old, new, queries, judgements = make_case(1.0, 1.0)
    pairs = np.repeat(np.arange(100), 2).reshape(-1, 2)
    adapter = isthmus.migrate(old, new[:100], pairs, queries=queries, judgements=judgements, kind="ridge")
    assert [o.rows for o in adapter.options.options] == [0, 0, 0, 15, 38, 75, N]
    assert adapter.options.lines(cost=2.0)[-1].endswith("150 rows to embed, cost 0.30")


def test_the_options_are_in_the_file(better_old, tmp_path):
    better_old.save(tmp_path / "a.npz")
    assert isthmus.Adapter.load(tmp_path / "a.npz").options == better_old.options


def test_recall_and_gain_by_hand():
    S = np.array([[0.1, 0.9, 0.5, 0.7], [0.4, 0.3, 0.2, 0.1]])
    assert nearest_places(S).tolist() == [[1, 3, 2, 0], [0, 1, 2, 3]]
    recall, gain = measure_relevance(nearest_places(S)[:, :2], [np.array([3]), np.array([0, 3])])
    assert recall.tolist() == [1.0, 0.5]
    assert gain == pytest.approx([1 / np.log2(3), 1 / (1 + 1 / np.log2(3))])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"queries": np.eye(20)}, "queries: expected a tuple of two matrices"),
        ({"queries": (np.eye(30, 20), np.eye(29, 24))}, "queries: expected the same queries by both models"),
        ({"queries": (np.eye(30, 24), np.eye(30, 20))}, "queries by the old model: expected 20 columns"),
        ({"judgements": np.zeros((3, 2))}, "judgements: expected rows of a query number"),
        ({"judgements": np.array([[0, N]])}, "judgements: expected queries below 60 and rows below 150"),
        ({"judgements": np.array([[0, 0]])}, "judgements: expected 20 queries whose relevant rows are all in pairs"),
        ({"queries": None}, "judgements: expected queries with them"),
    ],
)
def test_bad_queries_get_one_sentence(given, sentence):
    old, new, queries, judgements = make_case(1.0, 1.0)
    with pytest.raises(InputError, match=sentence.replace("(", r"\(")) as caught:
        isthmus.migrate(old, new, **{"queries": queries, "judgements": judgements, "kind": "ridge"} | given)
    assert one_sentence(caught)


def test_the_command_compares_and_waits_at_the_gate(tmp_path, capsys):
    old, new, queries, _ = make_case(0.0, 3.0)
    for name, rows in (("old", old), ("new", new), ("q_old", queries[0]), ("q_new", queries[1])):
        np.save(tmp_path / f"{name}.npy", rows)
    (tmp_path / "relevant.csv").write_text("query,row\n" + "".join(f"{i},{i}\n" for i in range(ASKED)))
    words = ["migrate", *(str(tmp_path / f"{name}.npy") for name in ("old", "new")), "--kind", "ridge", "--json"]
    words += ["--queries", *(str(tmp_path / f"q_{name}.npy") for name in ("old", "new"))]
    words += ["--judgements", str(tmp_path / "relevant.csv"), "-o", str(tmp_path / "out")]
    assert main([*words, "--gate", "recall@10=0.99"]) == 3
    assert not (tmp_path / "out").exists()
    said = json.loads(capsys.readouterr().out)
    assert said["action"] == said["options"]["verdict"] == "keep"
    assert main([*words, "--gate", "recall@10=0.01"]) == 0
    assert (tmp_path / "out" / "adapter.npz").exists()
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--gate", "speed=1"])
    assert "argument --gate: expected one of recall@1" in capsys.readouterr().err


def test_an_index_file_is_migrated_and_put_back(tmp_path, monkeypatch):
    from isthmus.stores.vector_files import NumpyFile

    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(9000, 5))  # three blocks
    old, new = (meaning @ rng.normal(size=(5, d)) for d in (6, 7))
    address, run = str(tmp_path / "index.npy"), tmp_path / "run"
    np.save(address, old.astype("f4"))
    np.save(tmp_path / "new.npy", new.astype("f4"))
    words = ["migrate", address, "--embed", str(tmp_path / "new.npy"), "--sample", "80", "--kind", "ridge", "--quiet"]
    assert main([*words, "--apply", "convert", "-o", str(run)]) == 0
    assert np.allclose(np.load(address), isthmus.Adapter.load(run / "adapter.npz").to_new(old), atol=1e-4)
    assert main(["migrate", str(run), "--rollback", "--quiet"]) == 0
    assert np.array_equal(np.load(address), old.astype("f4"))

    def stop(self, file, rows, dimension):
        file.write(b"a part of it")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(NumpyFile, "write", stop)
        assert main([*words, "--apply", "reembed", "-o", str(tmp_path / "again")]) == 130
    assert np.array_equal(np.load(address), old.astype("f4"))
    assert main([*words, "--apply", "convert", "-o", str(tmp_path / "again")]) == 2
    assert main(["migrate", str(tmp_path / "again"), "--resume", "--quiet"]) == 0
    assert np.array_equal(np.load(address), new.astype("f4"))
    assert main(["migrate", str(tmp_path / "again"), "--resume"]) == 2


def test_a_run_that_stopped_between_the_new_file_and_its_stamp_is_resumed_or_undone(tmp_path, monkeypatch):
    from isthmus.stores.vector_files import VectorFile

    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(300, 5))
    old, new = ((meaning @ rng.normal(size=(5, d))).astype("f4") for d in (6, 7))
    address = str(tmp_path / "index.npy")
    np.save(address, old)
    np.save(tmp_path / "new.npy", new)
    words = ["migrate", address, "--embed", str(tmp_path / "new.npy"), "--sample", "80", "--kind", "ridge", "--quiet"]

    def stop(*_):
        raise KeyboardInterrupt

    for name, end in (("a", "--rollback"), ("b", "--resume")):
        run = tmp_path / name
        with monkeypatch.context() as patch:
            patch.setattr(VectorFile, "stamp", stop)
            assert main([*words, "--apply", "convert", "-o", str(run)]) == 130
        assert np.load(address).shape == (300, 7)
        assert main(["migrate", str(run), end, "--quiet"]) == 0
        converted = isthmus.Adapter.load(run / "adapter.npz").to_new(old)
        assert np.allclose(np.load(address), converted if end == "--resume" else old, atol=1e-4)
    assert main(["migrate", str(run), "--rollback", "--quiet"]) == 0
    assert np.array_equal(np.load(address), old)


def test_another_model_of_the_same_size_is_refused(tmp_path):
    from isthmus.stores.store import fingerprint, open_store

    old, new, *_ = make_case(0.0, 0.0)
    address = str(tmp_path / "index.npy")
    np.save(address, old.astype("f4"))
    np.save(tmp_path / "new.npy", new.astype("f4"))
    rng = np.random.default_rng(2)
    other = (rng.normal(size=(N, 4)) @ rng.normal(size=(4, 20))).astype("f4")
    words = [
        "migrate",
        address,
        "--embed",
        str(tmp_path / "new.npy"),
        "--kind",
        "ridge",
        "--apply",
        "bridge",
        "--quiet",
    ]
    open_store(address).stamp({"fingerprint": fingerprint(old.astype("f4"), "mine")})
    assert main([*words, "-o", str(tmp_path / "a")]) == 0
    open_store(address).stamp({"fingerprint": fingerprint(other, "another")})
    assert main([*words, "-o", str(tmp_path / "b")]) == 2
