"""AnnData and MuData (extra ``anndata``): match the rows of two objects, or transfer labels from one to the other."""

from __future__ import annotations

import json
import warnings
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isthmus._core.files import show_path, write_whole
from isthmus._core.validation import Matrix, as_labels, check_matrix, is_unlabelled
from isthmus.exceptions import InputError, import_extra
from isthmus.io.tables.read import open_cells, split_modality
from isthmus.tasks.matching import result as matching
from isthmus.tasks.transfer.result import LabelTransfer

__all__ = ["match", "transfer_labels", "write_matches"]


KEY = "isthmus"
UseRep = str | tuple[str, str] | None


def transfer_labels(
    reference: Any,
    query: Any,
    field: str,
    use_rep: UseRep = None,
    *,
    model: LabelTransfer | None = None,
    key_added: str = KEY,
    copy: bool = False,
) -> Any:
    """Carry the labels of a reference over to a query of other features, by :class:`~isthmus.LabelTransfer`.

    Both get ``obsm["X_" + key_added]``, the points of the common space, and ``uns[key_added]``: the verdict in one
    sentence, parameters and versions. The query gets ``obs[field]``, where labels that it had are kept;
    ``obs[field + "_confidence"]``, the probability of the label (one for those it had); and
    ``obs[field + "_given"]``, whether it had one. All of it can be kept in ``.h5ad`` files. Where anything is wrong,
    neither object is changed.

    Parameters
    ----------
    reference : AnnData (n_s, d_s)
        With labels in ``obs[field]``. Rows without one (missing, None or -1) are mapped, and not learned from.
    query : AnnData (n_t, d_t)
        With a few labels in ``obs[field]``, missing in all other rows.
    field : str
        The column of both.
    use_rep : str or (str, str), optional
        What rows are described by: a key of ``obsm``, or "X" (which it is where nothing is said); two of them for the
        reference and the query.
    model : LabelTransfer, optional
        Its parameters; it is not changed.
    key_added : str
        Where points and summary are stored.
    copy : bool
        Whether to leave both objects alone and return copies of them.

    Returns
    -------
    LabelTransfer or (AnnData, AnnData)
        The fitted model, which names and maps more rows of either; with ``copy=True`` the changed copies.
    """
    keys, rows = _read_both(reference, query, use_rep, copy)
    labels = _get_labels(reference, field, "reference"), _get_labels(query, field, "query")
    taught, given = (~is_unlabelled(y) for y in labels)
    for name, known in (("reference", taught), ("query", given)):
        if not known.any():
            raise InputError(f"{name}.obs[{field!r}]: expected labels in some rows, got none.")
    system = clone(LabelTransfer() if model is None else model)
    system.fit(rows[0][taught], labels[0][taught], rows[1], labels[1])
    assigned = system.assign_labels(rows[1], labels[1])
    # Of a rejected row the runner-up is the best class.
    confidence = np.where(given, 1.0, np.fmax(assigned.probability, assigned.runner_up_probability))
    points = np.asarray(system.transform(rows[0], "source")), np.asarray(system.transform(rows[1], "target"))
    about = _describe(system, field, keys)
    if copy:
        reference, query = reference.copy(), query.copy()
    # Everything has been computed: from here on nothing can fail, so both objects are changed or neither.
    import pandas as pd

    query.obs[field] = pd.Categorical(assigned.labels, categories=system.classes_.tolist())
    query.obs[f"{field}_confidence"] = confidence
    query.obs[f"{field}_given"] = given
    for data, found in zip((reference, query), points, strict=True):
        data.obsm[f"X_{key_added}"] = found
        data.uns[key_added] = {**about, "versions": dict(about["versions"])}
    return (reference, query) if copy else system


def match(
    reference: Any, query: Any, use_rep: UseRep = None, *, key_added: str = KEY, copy: bool = False, **options: Any
) -> Any:
    """Find the rows of two AnnData objects that are the same object, by :func:`isthmus.match`.

    Either gets ``obs[key_added + "_partner"]``, the name of its partner in the other (missing where none is sure),
    ``obs[key_added + "_confidence"]``, the probability of the match (zero where there is none), and
    ``uns[key_added]``: the verdict in one sentence, whether the matching worked, and versions. All of it can be kept
    in files. The modalities of a MuData object are AnnData objects: give ``mdata["rna"], mdata["atac"]``, and call
    ``mdata.update()`` afterwards.

    Parameters
    ----------
    reference, query : AnnData (n, d), (m, d')
        Both collections.
    use_rep : str or (str, str), optional
        As in :func:`transfer_labels`.
    key_added : str
        Where partners and summary are stored.
    copy : bool
        Whether to leave both objects alone and return copies of them.
    **options
        Of :func:`isthmus.match`, such as ``pairs``, ``y_source`` and ``random_state``.

    Returns
    -------
    Matching or (AnnData, AnnData)
        The matching; with ``copy=True`` the changed copies.

    Examples
    --------
    >>> from anndata import AnnData
    >>> rng = np.random.default_rng(0)
    >>> A = rng.gamma(0.3, size=(80, 8)) @ rng.normal(size=(8, 20))
    >>> rna, atac = AnnData(A), AnnData(A[::-1] @ rng.normal(size=(20, 15)))
    >>> found = match(rna, atac, random_state=0)
    >>> found.ok, bool((atac.obs["isthmus_partner"] == atac.obs_names[::-1]).mean() > 0.9)
    (True, True)
    """
    _, rows = _read_both(reference, query, use_rep, copy)
    found = matching.match(*rows, **options)
    both = (reference.copy(), query.copy()) if copy else (reference, query)
    _add_partners(both, found, key_added)
    return both if copy else found


def write_matches(path: Path, files: tuple[Path, Path], found: matching.Matching, key_added: str = KEY) -> None:
    """Write two files of AnnData as the modalities of a MuData file, with what :func:`match` adds to either.

    Parameters
    ----------
    path : path
        The new ``.h5mu`` file.
    files : (path, path)
        An ``.h5ad`` file, or ``FILE.h5mu/NAME``, a modality, each.
    found : Matching
        Of their rows.
    key_added : str
        As in :func:`match`.
    """
    both = {}
    for file, other in zip(files, "AB", strict=True):
        with open_cells(file, show_path(file)) as (stored, read_elem):
            name = split_modality(file)[1] or file.stem
            both[f"{name} {other}" if name in both else name] = read_elem(stored)
    _add_partners(both.values(), found, key_added)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of mudata about pandas
        import_extra("mudata", "anndata", "This format needs").MuData(both).write(f"{folder}/both.h5mu")
        write_whole(path, Path(folder, "both.h5mu").read_bytes())


def _add_partners(both: Any, found: matching.Matching, key: str) -> None:
    import pandas as pd

    names = [np.asarray(data.obs_names, dtype=object) for data in both]
    for side, data in enumerate(both):
        own, other = found.pairs[:, side], found.pairs[:, 1 - side]
        partner, confidence = np.full(data.n_obs, None, dtype=object), np.zeros(data.n_obs)
        partner[own], confidence[own] = names[1 - side][other], found.confidence
        # MuData writes text with missing cells as categories only.
        data.obs[f"{key}_partner"], data.obs[f"{key}_confidence"] = pd.Categorical(partner), confidence
        data.uns[key] = {"verdict": str(found), "ok": str(found.ok), "versions": _list_versions()}


def _list_versions() -> dict[str, str]:
    return {name: version(name) for name in ("isthmus", "numpy", "scikit-learn", "anndata")}


def _describe(system: LabelTransfer, field: str, keys: tuple[str, str]) -> dict[str, Any]:
    """Return the summary in types that an ``.h5ad`` file can hold: no None, and parameters as one text."""
    return {
        "verdict": system.verdict_,
        "source_used": bool(system.source_used_),
        "field": field,
        "use_rep": np.array(keys, dtype=object),
        "unlabelled_classes": np.array([str(each) for each in system.unlabelled_classes_], dtype=object),
        "shares": np.asarray(system.shares_),
        "parameters": json.dumps(system.get_params(deep=False), default=repr, sort_keys=True),
        "versions": _list_versions(),
    }


def _read_both(reference: Any, query: Any, use_rep: Any, copy: bool) -> tuple[tuple[str, str], tuple[Matrix, Matrix]]:
    """Return where rows are, and the rows, of two AnnData objects that can be written to."""
    AnnData = import_extra("anndata", "anndata", "transfer_labels needs").AnnData
    both = {"reference": reference, "query": query}
    for name, data in both.items():
        if not isinstance(data, AnnData):
            raise InputError(f"{name}: expected an AnnData object, got {type(data).__name__}.")
    keys = _check_keys(use_rep)
    for name, data in both.items():
        if data.isbacked:
            got = "one that is backed by a file: use to_memory()"
            raise InputError(f"{name}: expected an object in memory, got {got}.")
        if data.is_view and not copy:
            raise InputError(f"{name}: expected an object that can be written to, got a view: use copy().")
    return keys, (_get_rows(reference, keys[0], "reference"), _get_rows(query, keys[1], "query"))


def _check_keys(use_rep: Any) -> tuple[str, str]:
    both = (use_rep, use_rep) if use_rep is None or isinstance(use_rep, str) else use_rep
    if not isinstance(both, tuple | list) or len(both) != 2 or not all(isinstance(k, str | None) for k in both):
        raise InputError(f"use_rep: expected a key of obsm, 'X', or two of them, got {use_rep!r:.60}.")
    first, second = ("X" if key is None else key for key in both)
    return first, second


def _get_rows(data: Any, key: str, name: str) -> Matrix:
    if key != "X" and key not in data.obsm:
        known = ", ".join(repr(each) for each in ("X", *data.obsm))
        raise InputError(f"use_rep: expected one of {known} of the {name}, got {key!r:.60}.")
    found = data.X if key == "X" else data.obsm[key]
    return check_matrix(found, f"{name}.X" if key == "X" else f"{name}.obsm[{key!r}]")


def _get_labels(data: Any, field: Any, name: str) -> NDArray[Any]:
    if not isinstance(field, str) or field not in data.obs:
        known = ", ".join(repr(str(each)) for each in data.obs.columns[:8]) or "none"
        raise InputError(f"field: expected a column of {name}.obs (it has {known}), got {field!r:.60}.")
    return as_labels(data.obs[field], f"{name}.obs[{field!r}]")
