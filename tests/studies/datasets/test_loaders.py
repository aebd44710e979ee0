"""Loaders: what they return is what the files hold and what the catalogue says; wrong files are refused with a reason."""

from __future__ import annotations

import hashlib
import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from conftest import real_data
from isthmus.data.datasets import load_digits
from isthmus.data.domains import Domain
from isthmus.exceptions import InputError
from studies import datasets
from studies.datasets import catalogue, listing, read_office_mat, reuters600
from studies.datasets.__main__ import main
from studies.datasets.collection import Collection
from studies.datasets.files.compressed_rows import read_csr
from studies.datasets.parts import class_names, codes, distinct, published_split, row_numbers
from studies.datasets.reuters import ABOUT as REUTERS
from studies.datasets.reuters import _load as load_small_reuters
from studies.datasets.toy import TARGET_AXES, load_toy

FILED = [dataset for dataset in catalogue() if dataset.files]
SCARCE = {"reuters", "office_caltech_mat_SURF_L10", "office_caltech_mat_decaf"}
"""Not in the folder that this project develops with: tested on files made here, and on real ones where somebody has them."""
PAIRED = {"reuters600", "mfeat", "snareseq", "debian"}
"""Here rows of different domains are descriptions of one object."""


def loaded(name: str) -> Collection:
    dataset = next(d for d in FILED if d.name == name)
    return dataset.load(real_data(*dataset.files))


@pytest.fixture(
    scope="module",
    params=[pytest.param(d.name, marks=pytest.mark.data) for d in FILED if d.name not in SCARCE or d.present()],
)
def collection(request):
    return loaded(request.param)


# ------------------------------------------------------------------ real data


def test_domains_are_float64_with_every_class_and_an_object_per_row(collection):
    assert set(collection.domains) == set(collection.objects)
    for name, domain in collection.domains.items():
        n, d = domain.X.shape
        assert domain.X.dtype == np.float64
        assert not sp.issparse(domain.X) or domain.X.format == "csr"
        assert domain.y.shape == (n,)
        np.testing.assert_array_equal(np.unique(domain.y), np.arange(len(collection.classes)))
        assert len(np.unique(collection.objects[name])) == n
        assert domain.columns is None or len(domain.columns) == d


def test_the_catalogue_states_the_shapes(collection):
    about = next(d for d in FILED if d.name == collection.name)
    assert about.expects.endswith(f"; {len(collection.classes)} classes")
    for name, domain in collection.domains.items():
        n, d = domain.X.shape
        parts = [f"{name} {n} x {d}"] if collection.name not in ("office31_bow", "mfeat") else [*name.split(), str(n)]
        assert all(part in about.expects for part in parts), parts
    assert (collection.title, collection.licence, collection.provenance) == (
        about.title,
        about.licence,
        about.reference,
    )


def test_one_object_has_one_class(collection):
    for first, second in combinations(collection.domains, 2):
        _, i, j = np.intersect1d(collection.objects[first], collection.objects[second], return_indices=True)
        np.testing.assert_array_equal(collection[first].y[i], collection[second].y[j])
        same_images = collection.name == "office31_bow" and first.split()[0] == second.split()[0]
        assert bool(len(i)) == (same_images or collection.name in PAIRED), (first, second)


def test_published_splits_hold_out_what_they_test(collection):
    assert set(collection.splits) == set(collection.split_domains)
    for name, splits in collection.splits.items():
        source, target = (collection[d] for d in collection.split_domains[name])
        for split in splits:
            np.testing.assert_array_equal(np.bincount(source.y[split.source]), 20)
            np.testing.assert_array_equal(np.bincount(target.y[split.labelled]), 3)
            rows = np.concatenate([split.labelled, split.unlabelled, split.test])
            np.testing.assert_array_equal(np.sort(rows), np.arange(len(target.y)))


@pytest.mark.data
@pytest.mark.parametrize(("name", "n_splits", "n_test"), [("hoffman", 20, 405), ("shfa", 1, 405)])
def test_office31_splits_are_as_many_as_published(name, n_splits, n_test):
    office = loaded("office31_released")
    assert [len(split.test) for split in office.splits[name]] == [n_test] * n_splits
    assert len({tuple(split.source) for split in office.splits[name]}) == n_splits
    pair = office.pair("amazon surf800", "dslr surf600", office.splits[name][-1])
    assert pair.X_source.shape == (620, 800)
    assert not set(pair.target_ids) & set(pair.test_ids)


@pytest.mark.data
def test_cdls_is_made_of_the_images_of_office_caltech():
    cdls, surf, decaf = loaded("cdls"), loaded("office_caltech_surf800"), loaded("office_caltech_decaf4096")
    np.testing.assert_array_equal(cdls["amazon decaf4096"].X, decaf["amazon200"].X)
    ours, theirs = (collection[name].X for collection, name in ((cdls, "dslr surf800"), (surf, "dslr")))
    np.testing.assert_array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])
    assert len(cdls.splits["cdls"][0].test) == 127


@pytest.mark.data
def test_loading_changes_no_file():
    dataset = next(d for d in FILED if d.name == "snareseq")
    folder = real_data(*dataset.files)
    file = folder / dataset.files[0]
    before = file.stat().st_mtime_ns, hashlib.sha256(file.read_bytes()).digest()
    collection = dataset.load(folder)
    collection["rna10"].X[:] = 0.0
    assert before == (file.stat().st_mtime_ns, hashlib.sha256(file.read_bytes()).digest())
    assert dataset.load(folder)["rna10"].X.any()


def is_label(key):
    return key == "y" or key.endswith("_y")


def relabelled(arrays):
    return {key: np.where(np.arange(len(v)) == 7, 99, v) if is_label(key) else v for key, v in arrays.items()}


def one_row_less(arrays):
    return {key: v[:-1] if is_label(key) else v for key, v in arrays.items()}


def without_labels(arrays):
    return {key: v for key, v in arrays.items() if not is_label(key)}


def named_twice(arrays):
    return {key: v[[0, *range(len(v) - 1)]] if v.dtype.kind == "U" else v for key, v in arrays.items()}


ZIPPED = [dataset.name for dataset in FILED if dataset.files[0].endswith("npz")]
NAMELESS = {"mfeat", "snareseq"}
"""Nothing in these files has a name."""


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "change"),
    [
        *product(ZIPPED, [relabelled, one_row_less, without_labels]),
        *((name, named_twice) for name in ZIPPED if name not in NAMELESS),
    ],
)
def test_a_real_file_with_one_thing_wrong_is_refused(tmp_path, name, change):
    dataset = next(d for d in FILED if d.name == name)
    folder = real_data(*dataset.files)
    for file in dataset.files:
        with np.load(folder / file, allow_pickle=False) as parts:
            arrays = dict(parts)
        saved(tmp_path, file, change(arrays))
    with pytest.raises(InputError, match=r"\.npz.*: expected .*, got ") as refusal:
        dataset.load(tmp_path)
    assert "\n" not in str(refusal.value)


# ------------------------------------------------------------------ files that were made


def snareseq() -> dict:
    y = 1 + np.arange(1047) % 4
    return {"rna10": np.ones((1047, 10)), "atac19": np.ones((1047, 19)), "rna_y": y, "atac_y": y.copy()}


def released() -> dict:
    target = np.arange(498)
    splits = {"source_train": np.arange(620), "target_train": target[:93], "target_test": target[93:]}
    return {
        "classes": np.array([f"class {k}" for k in range(31)]),
        "amazon_surf800": np.zeros((2813, 800), dtype=np.float32),
        "amazon_y": 1 + np.arange(2813) % 31,
        "dslr_surf600": np.zeros((498, 600), dtype=np.float32),
        "dslr_y": 1 + target % 31,
        **{f"shfa_{part}": rows for part, rows in splits.items()},
        **{f"hoffman_{part}": np.tile(rows, (20, 1)) for part, rows in splits.items()},
    }


def debian() -> dict[str, dict]:
    shapes = {"en": (5527, 8279), "fr": (3560, 7038), "de": (1990, 4819)}
    return {
        language: {
            "data": np.ones(n),
            "indices": np.arange(n) % d,
            "indptr": np.arange(n + 1),
            "shape": np.array([n, d]),
            "y": np.arange(n) % 8,
            "classes": np.array(list("abcdefgh")),
            "package": np.array([f"p{k}" for k in range(n)]),
            "vocabulary": np.array([f"w{k}" for k in range(d)]),
        }
        for language, (n, d) in shapes.items()
    }


def saved(folder: Path, name: str, arrays: dict) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, **arrays)
    return folder


def test_labels_become_codes_and_rows_float64(tmp_path):
    arrays = snareseq()
    cells = datasets.load_snareseq(saved(tmp_path, "single_cell/snareseq.npz", arrays))
    np.testing.assert_array_equal(cells["atac19"].y, arrays["atac_y"] - 1)
    np.testing.assert_array_equal(cells.objects["rna10"], cells.objects["atac19"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rna10": np.ones((1046, 10))}, r"rna10.*\(1047, 10\).*\(1046, 10\)"),
        ({"rna_y": np.arange(1047)}, "expected the same cell types"),
        ({"rna_y": np.zeros(1047, int), "atac_y": np.zeros(1047, int)}, "rna10, labels: expected .* 1 to 4, got 0"),
        ({"rna_y": np.full(1047, 5), "atac_y": np.full(1047, 5)}, "rna10, labels: expected .* 1 to 4, got 5"),
        ({"atac19": np.full((1047, 19), np.nan)}, "atac19.*expected finite"),
        ({"rna_y": None}, "rna_y"),
    ],
)
def test_wrong_cells_are_refused(tmp_path, change, reason):
    arrays = {key: value for key, value in (snareseq() | change).items() if value is not None}
    saved(tmp_path, "single_cell/snareseq.npz", arrays)
    with pytest.raises(InputError, match=reason) as refusal:
        datasets.load_snareseq(tmp_path)
    assert "snareseq.npz" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (
            "shfa_target_test",
            np.arange(405),
            "shfa split 0: expected test rows that are not labelled rows too, got 93",
        ),
        ("hoffman_target_test", np.tile(np.arange(94, 499), (20, 1)), "hoffman split 0: .* from 0 to 497, got 498"),
        ("shfa_source_train", np.zeros(620, int), "shfa split 0: expected every entry once, got 0 620 times"),
        ("classes", np.full(31, "bike"), "classes: expected every entry once, got bike 31 times"),
        ("dslr_y", np.full(498, 32), "dslr surf600, labels: expected .* 1 to 31, got 32"),
    ],
)
def test_wrong_splits_and_classes_are_refused(tmp_path, key, value, reason):
    saved(tmp_path, "office31/office31_surf_released.npz", released() | {key: value})
    with pytest.raises(InputError, match=reason):
        datasets.load_office31_released(tmp_path)


@pytest.mark.parametrize(
    ("language", "key", "value", "reason"),
    [
        (
            "fr",
            "package",
            np.full(3560, "vim"),
            "debian8_fr.npz, package: expected every entry once, got vim 3560 times",
        ),
        (
            "de",
            "y",
            (1 + np.arange(1990)) % 8,
            "debian8_de.npz: expected the sections of the English file, got .* of p",
        ),
        ("de", "classes", np.array(list("abcdefgi")), "debian8_de.npz, classes: expected a, b, .* got a, b, .* i"),
        ("en", "y", np.full(5527, 8), "debian8_en.npz, labels: expected whole numbers from 0 to 7, got 8"),
        ("en", None, None, None),
    ],
)
def test_debian_languages_have_to_agree(tmp_path, language, key, value, reason):
    for name, arrays in debian().items():
        saved(
            tmp_path,
            f"debian_descriptions/debian8_{name}.npz",
            arrays | ({key: value} if key and name == language else {}),
        )
    if reason is None:
        packages = datasets.load_debian(tmp_path)
        assert packages["de"].columns[:2] == ("w0", "w1")
        assert set(packages.objects["de"]) < set(packages.objects["en"])
        return
    with pytest.raises(InputError, match=reason):
        datasets.load_debian(tmp_path)


@pytest.mark.parametrize("dataset", FILED, ids=lambda dataset: dataset.name)
def test_a_missing_file_says_what_to_put_where(tmp_path, dataset):
    with pytest.raises(InputError) as refusal:
        dataset.load(tmp_path)
    message = str(refusal.value)
    assert message.startswith(f"{dataset.name}: expected")
    assert str(tmp_path / dataset.files[0]) in message
    assert dataset.expects in message
    assert "ISTHMUS_DATA" in message


# ------------------------------------------------------------------ 600 documents of Reuters


def sample(**changes) -> dict:
    """A file of the layout of reuters.mat, with the same two words in every language."""
    entries = np.array([[2.0, 7.0, -0.5], [600.0, 1.0, 1.25]])
    truth = (1 + np.arange(600) % 6)[:, None]
    return {"truth": truth, **{f"EN_{v}_sample": entries for v in ("EN", "FR", "GR", "IT", "SP")}, **changes}


def test_rows_of_document_word_and_weight_become_a_table(tmp_path):
    savemat(tmp_path / "reuters.mat", sample())
    languages = reuters600.read_languages(tmp_path / "reuters.mat")
    assert {name: domain.X.shape[1] for name, domain in languages.items()} == reuters600.VOCABULARIES
    for domain in languages.values():
        assert (domain.X.nnz, domain.X[1, 6], domain.X[599, 0]) == (2, -0.5, 1.25)
        np.testing.assert_array_equal(domain.y, np.arange(600) % 6)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"EN_IT_sample": [[0.0, 1.0, 1.0]]},
            "EN_IT_sample: expected documents from 1 to 600 and words from 1 to 15506",
        ),
        (
            {"EN_SP_sample": [[1.0, 11548.0, 1.0]]},
            "EN_SP_sample: expected documents .* words from 1 to 11547, got others",
        ),
        ({"EN_FR_sample": [[1.5, 1.0, 1.0]]}, "EN_FR_sample: expected documents"),
        (
            {"EN_EN_sample": [[1.0, 1.0, 1.0]] * 2},
            "EN_EN_sample: expected every word of a document once, got 1 twice",
        ),
        ({"EN_EN_sample": [[1.0, 1.0]]}, r"expected numbers of shape \(any, 3\), got shape \(1, 2\)"),
        ({"truth": np.full((600, 1), 7)}, "labels: expected whole numbers from 1 to 6, got 7"),
        ({"truth": np.ones((599, 1))}, r"shape \(600,\), got shape \(599,\)"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, changes, reason):
    savemat(tmp_path / "reuters.mat", sample(**changes))
    with pytest.raises(InputError, match=reason):
        reuters600.read_languages(tmp_path / "reuters.mat")


def test_another_file_is_refused_with_both_checksums(tmp_path):
    (tmp_path / "reuters_multilingual").mkdir()
    path = tmp_path / "reuters_multilingual" / "reuters.mat"
    savemat(path, sample())
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(InputError, match=f"reuters.mat: expected .* {reuters600.SHA256}, got {found}"):
        datasets.load_reuters600(tmp_path)


@pytest.mark.data
def test_the_public_file_holds_what_the_archive_made_from_it_holds():
    file = "reuters_multilingual/reuters600_5lang.npz"
    archive, documents = real_data(file) / file, loaded("reuters600")
    with np.load(archive, allow_pickle=False) as parts:
        labels = parts["y"]
    for name, domain in documents.domains.items():
        table = read_csr(archive, f"{name}_", domain.X.shape).astype(np.float64)
        for part in ("data", "indices", "indptr"):
            assert getattr(domain.X, part).tobytes() == getattr(table, part).tobytes()
        np.testing.assert_array_equal(domain.y + 1, labels)
        np.testing.assert_array_equal(documents.objects[name], np.arange(600))


# ------------------------------------------------------------------ Reuters as it ships

SMALL = {"EN": (2, 3), "FR": (3, 4)}
LINES = {"EN": "C15 1:0.5 3:-1.25\nM11 2:3\n", "FR": "CCAT 4:1\nGCAT 1:2 2:1\nE21 3:0.25\n"}


def index_files(folder: Path, lines: dict[str, str]) -> list[Path]:
    paths = [folder / file for file in REUTERS.files[: len(lines)]]
    for path, text in zip(paths, lines.values(), strict=True):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return paths


def test_native_documents_are_read_from_the_folders_of_the_archive(tmp_path):
    paths = index_files(tmp_path, LINES)
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        "reuters_multilingual/rcv1rcv2aminigoutte/EN/Index_EN-EN",
        "reuters_multilingual/rcv1rcv2aminigoutte/FR/Index_FR-FR",
    ]
    reuters = load_small_reuters(paths, SMALL)
    np.testing.assert_array_equal(reuters["EN"].X.toarray(), [[0.5, 0.0, -1.25], [0.0, 3.0, 0.0]])
    assert [reuters.classes[c] for c in reuters["FR"].y] == ["CCAT", "GCAT", "E21"]
    assert not set(reuters.objects["EN"]) & set(reuters.objects["FR"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [("C15 1:1\n", "expected 2 documents and 3 words, got 1 and 3"), ("SPORT 1:1\nC15 1:1\n", "SPORT"), ("C15 4:1\nC15 1:1\n", "4")],
)  # fmt: skip
def test_another_corpus_is_refused(tmp_path, text, reason):
    with pytest.raises(InputError, match=reason):
        load_small_reuters(index_files(tmp_path, LINES | {"EN": text}), SMALL)


# ------------------------------------------------------------------ MATLAB files

STEMS = {"SURF_L10": ("amazon", "Caltech10", "dslr", "webcam"), "decaf": ("amazon", "caltech", "dslr", "webcam")}


def office_mat_files(folder: Path, features: str, columns: int) -> None:
    (folder / "office_caltech10").mkdir()
    for stem, n in zip(STEMS[features], (958, 1123, 157, 295), strict=True):
        rows = sp.csc_matrix(([1.0], ([0], [columns - 1])), shape=(n, columns))
        labels = (1.0 + np.arange(n) % 10)[:, None]
        names = ("fts", "labels") if features == "SURF_L10" else ("fea", "gnd")
        savemat(folder / "office_caltech10" / f"{stem}_{features}.mat", dict(zip(names, (rows, labels), strict=True)))


@pytest.mark.parametrize(("features", "columns"), [("SURF_L10", 800), ("decaf", 4096)])
def test_office_caltech_mat_files(tmp_path, features, columns):
    office_mat_files(tmp_path, features, columns)
    office = datasets.load_office_caltech_mat(tmp_path, features=features)
    assert {name: domain.X.shape for name, domain in office.domains.items()} == {
        "amazon": (958, columns), "caltech10": (1123, columns), "dslr": (157, columns), "webcam": (295, columns)
    }  # fmt: skip
    np.testing.assert_array_equal(office["dslr"].y, np.arange(157) % 10)
    savemat(tmp_path / f"office_caltech10/dslr_{features}.mat", {"fts": np.eye(3), "labels": [1, 2, 3]})
    with pytest.raises(InputError, match=rf"dslr_{features}.mat.*expected .*157.*{columns}.*, got "):
        datasets.load_office_caltech_mat(tmp_path, features=features)


@pytest.mark.data
def test_mat_files_and_npz_of_the_same_rows_are_the_same_collection(tmp_path):
    (tmp_path / "office_caltech10").mkdir()
    surf = loaded("office_caltech_surf800")
    for stem, (name, domain) in zip(STEMS["SURF_L10"], surf.domains.items(), strict=True):
        assert stem.lower() == name
        file = tmp_path / "office_caltech10" / f"{stem}_SURF_L10.mat"
        savemat(file, {"fts": domain.X, "labels": domain.y[:, None] + 1.0}, do_compression=True)
    office = datasets.load_office_caltech_mat(tmp_path)
    assert office.classes == surf.classes
    for name, domain in surf.domains.items():
        np.testing.assert_array_equal(office[name].X, domain.X)
        np.testing.assert_array_equal(office[name].y, domain.y)
        np.testing.assert_array_equal(office.objects[name], surf.objects[name])


@pytest.mark.parametrize("names", [("fts", "labels"), ("feas", "labels"), ("fea", "gnd"), ("features", "labels"), ("FTS", "LABELS"), ("X", "Y")])  # fmt: skip
@pytest.mark.parametrize("labels", [[[1.0], [3.0]], [[1, 3]]], ids=["column", "row"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_variables_of_a_mat_file_have_many_names(tmp_path, names, labels, packed):
    file = tmp_path / "amazon.mat"
    rows = np.array([[0.5, 2.0, 0.0], [1.0, 0.0, 7.0]])
    savemat(file, {"categories": np.eye(2), names[0]: rows, names[1]: labels}, do_compression=packed)
    domain = read_office_mat(file)
    assert isinstance(domain, Domain)
    np.testing.assert_array_equal(domain.X, rows)
    np.testing.assert_array_equal(domain.y, [0, 2])


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"fts": np.eye(2)}, "expected the labels as one of labels, label, gnd, .*, got fts"),
        ({"rows": np.eye(2), "labels": [1, 2]}, "expected the rows as one of fts, feas, .*, got rows, labels"),
        ({"fts": np.eye(2), "X": np.eye(2), "labels": [1, 2]}, "expected the rows as one of .*, got fts, X"),
        ({"fts": np.eye(2), "labels": [1, 2, 3]}, r"labels: expected shape \(2,\) to match the rows, got \(3,\)"),
        ({"fts": np.eye(2), "labels": [0, 1]}, "labels: expected whole numbers from 1 to 10, got 0"),
        ({"fts": np.eye(2), "labels": [1, 11]}, "labels: expected whole numbers from 1 to 10, got 11"),
        ({"fts": np.eye(2), "labels": [1.5, 2.0]}, "labels.*expected whole numbers"),
        ({"train": {"source": [1, 2]}, "test": {"target": [1]}}, "expected the rows as one of .*, got train, test"),
    ],
)
def test_wrong_mat_files_are_refused(tmp_path, variables, reason):
    savemat(tmp_path / "amazon.mat", variables)
    with pytest.raises(InputError, match=reason):
        read_office_mat(tmp_path / "amazon.mat")


# ------------------------------------------------------------------ the page on them

PAGE = Path(__file__).parents[3] / "docs" / "datasets.md"
STATED = re.findall(
    r"^\| `([^`]+)` \| ([\d,]+) \| `([0-9a-f]{64})` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)


def test_the_page_states_size_and_sum_of_every_file_that_is_not_scarce():
    assert {file for file, _, _ in STATED} == {file for d in FILED if d.name not in SCARCE for file in d.files}


@pytest.mark.data
@pytest.mark.parametrize(("file", "size", "stated"), STATED, ids=[file for file, _, _ in STATED])
def test_files_are_those_of_the_page(file, size, stated):
    content = (real_data(file) / file).read_bytes()
    assert (f"{len(content):,}", hashlib.sha256(content).hexdigest()) == (size, stated)


# ------------------------------------------------------------------ the toy problem


@pytest.mark.parametrize("seed", range(5))
def test_the_toy_has_the_numbers_of_the_paper(seed):
    toy = load_toy(seed)
    assert toy.X_source.shape == (80, 2)
    assert toy.X_target.shape == (84, 3)
    np.testing.assert_array_equal(np.bincount(toy.y_source), [40, 40])
    np.testing.assert_array_equal(np.bincount(toy.y_target[toy.y_target >= 0]), [2, 2])
    np.testing.assert_array_equal(np.bincount(toy.y_test), [200, 200])
    ids = np.concatenate([toy.source_ids, toy.target_ids, toy.test_ids])
    np.testing.assert_array_equal(np.sort(ids), np.arange(80 + 84 + 400))


@pytest.mark.parametrize("seed", range(5))
def test_labelled_toy_rows_lie_at_one_corner_of_their_class_and_test_rows_do_not(seed):
    toy = load_toy(seed)
    known = toy.y_target >= 0
    for label in (0, 1):
        own = toy.target_classes == label
        rows = toy.X_target[own & ~known] @ TARGET_AXES
        labelled = (toy.X_target[own & known] @ TARGET_AXES - rows.mean(axis=0)) / rows.std(axis=0)
        assert labelled[:, :2].min() > 0.5
        assert labelled[:, :2].mean() > 1.0
        test = (toy.X_test[toy.y_test == label] @ TARGET_AXES - rows.mean(axis=0)) / rows.std(axis=0)
        assert np.abs(test.mean(axis=0)).max() < 0.5


def test_toy_seeds_differ_and_repeat():
    np.testing.assert_array_equal(load_toy(1).X_target, load_toy(1).X_target)
    assert not np.array_equal(load_toy(1).X_target, load_toy(2).X_target)
    with pytest.raises(InputError, match="labelled_per_class: expected a whole number of at least 1, got 0"):
        load_toy(labelled_per_class=0)


# ------------------------------------------------------------------ the catalogue


def test_the_catalogue_names_every_loader_once():
    names = [dataset.name for dataset in catalogue()]
    assert len(set(names)) == len(names)
    found = {getattr(dataset.load, "func", dataset.load) for dataset in catalogue()}
    loaders = {getattr(datasets, name) for name in datasets.__all__ if name.startswith("load_")}
    assert found == {load_digits, load_toy, *loaders}


def test_data_sets_without_files_are_as_stated_and_always_present(tmp_path):
    for dataset in catalogue():
        assert dataset.present(tmp_path) == (not dataset.files)
        if not dataset.files:
            pair = dataset.load()
            shapes = [
                *pair.X_source.shape,
                *pair.X_target.shape,
                pair.n_labelled,
                len(pair.X_test),
                len(pair.classes),
            ]
            n_s, d_s, n_t, d_t, n_l, n, c = shapes
            assert (
                dataset.expects
                == f"source {n_s} x {d_s}, target {n_t} x {d_t} ({n_l} labelled), test {n}; {c} classes"
            )


def test_a_data_set_is_present_when_its_last_file_is(tmp_path):
    dataset = next(d for d in FILED if d.name == "debian")
    for file in dataset.files:
        assert not dataset.present(tmp_path)
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    assert dataset.present(tmp_path)


def test_the_listing_says_where_it_looked_and_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = listing("data")
    first, *lines = text.splitlines()
    assert first.startswith("Looked in data;")
    assert "ISTHMUS_DATA" in first
    assert max(len(line) for line in text.splitlines()) <= 100
    for dataset in catalogue():
        (row,) = (line for line in lines if line.split()[:1] == [dataset.name])
        assert row.split()[1] == ("missing" if dataset.files else "built")
        assert row.endswith(dataset.title)
        assert not dataset.files or f"    missing: {Path('data') / dataset.files[0]}" in lines
    monkeypatch.setenv("ISTHMUS_DATA", "elsewhere")
    assert listing().startswith("Looked in elsewhere;")


def test_the_module_prints_the_listing(capsys, tmp_path):
    assert main(["--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == listing(tmp_path) + "\n"
    (tmp_path / "file").touch()
    assert main(["--data", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("studies.datasets: folder: expected a folder, got the file ")


# ------------------------------------------------------------------ the checks themselves


@pytest.mark.parametrize("labels", [[1.5, 1.0], [np.nan, 1.0], [-1, 1], [3, 1]])
def test_labels_out_of_range_are_refused(labels):
    with pytest.raises(InputError, match="here, labels: expected whole numbers from 1 to 2, got"):
        codes(np.array(labels), 2, 2, "here")


def test_parts_of_a_file_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"here: expected shape \(3,\) to match the rows, got \(2,\)"):
        distinct(["a", "b"], 3, "here")
    with pytest.raises(InputError, match="here: expected row numbers from 0 to 4, got -1"):
        row_numbers(np.array([0, -1]), 5, "here")
    assert class_names(np.array(["a", "b"]), 2, "here") == ("a", "b")
    split = published_split(np.array([2, 0]), np.array([1]), np.array([0, 2]), 3, 3, "here")
    assert split.source.tolist() == [2, 0]
    assert split.unlabelled.dtype == np.intp
    assert not len(split.unlabelled)
