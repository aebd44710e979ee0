"""What a file is, by what is in it: a model, matches, labels or a verdict."""

from __future__ import annotations

from pathlib import Path

from isthmus.exceptions import InputError
from isthmus.report import labels, matched
from isthmus.report.labels import labels_chapter
from isthmus.report.match import match_chapter
from isthmus.report.model import model_chapter
from isthmus.report.parts import Chapter
from isthmus.report.records import FORMAT, VERSION, is_record, read_json, read_record, record_path, require_version
from isthmus.report.request import Request
from isthmus.report.verdict import verdict_chapter
from isthmus.storage.files import opened, shown
from isthmus.tables import read_table

EXPECTED = (
    "expected a model of `isthmus fit`, matches of `isthmus match`, classes of `isthmus label` or a verdict of "
    "`isthmus evaluate`"
)
LINES = (".jsonl", ".ndjson")


def chapter(path: Path, request: Request) -> Chapter:
    """What is told of a file; where it is none of these, one sentence."""
    with opened(path) as file:
        start = file.read(9)
    if start.startswith(b"PK\x03\x04") and path.suffix != ".npz":
        raise InputError(f"{shown(path)}: {EXPECTED}, got an archive.")
    if start.startswith(b"PK\x03\x04"):
        raise InputError(f"{shown(path)}: {EXPECTED}, got an adapter or other arrays.")
    if start[8:9] == b"{" and not start.startswith(b"{"):  # the length of a header, and the header
        return model_chapter(path, request)
    if start.lstrip().startswith(b"{") and path.suffix.lower() not in LINES:
        return _verdict(path)
    return _table(path, request)


def _verdict(path: Path) -> Chapter:
    about = read_json(path)
    if about.get("format") == FORMAT:
        table = shown(path.name.removesuffix(".json"))
        raise InputError(f"{shown(path)}: {EXPECTED}, got what is kept beside a table; give {table} itself.")
    if not {"sentence", "helps", "rows"} <= about.keys():
        raise InputError(f"{shown(path)}: {EXPECTED}, got another JSON object.")
    if "version" in about:
        require_version(about, VERSION, path)
    return verdict_chapter(path, about)


def _table(path: Path, request: Request) -> Chapter:
    record = read_record(path, "match") if _is_empty_match(path) else None
    if record is not None:
        return match_chapter(path, None, record, request)
    try:
        found = read_table(path)
    except InputError as error:
        if "expected a name that ends in" in str(error):
            raise InputError(f"{shown(path)}: {EXPECTED}, got another kind of file.") from None
        raise
    if set(matched.COLUMNS) <= set(found.names):
        return match_chapter(path, found, read_record(path, "match"), request)
    if set(labels.COLUMNS) <= set(found.names):
        return labels_chapter(path, found, read_record(path, "label"), request)
    raise InputError(f"{shown(path)}: {EXPECTED}, got a table with the columns {found.shown_names()}.")


def _is_empty_match(path: Path) -> bool:
    """Whether the record of a table says that no match was found, so that there are no rows to read."""
    place = record_path(path)
    if not place.exists() or not is_record(place):
        return False
    about = read_json(place)
    facts = about.get("facts")
    return about.get("kind") == "match" and isinstance(facts, dict) and facts.get("matches") == 0
