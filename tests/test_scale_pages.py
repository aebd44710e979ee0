"""Pages on scale are what the records say: nothing in their tables is typed in."""

from pathlib import Path

import pytest

from benchmarks import landmarks, lines, linkage, scale, shapes, speed, systems_scale, target_rows

DOCS = (lines.DOCS / "scale.md").read_text(encoding="utf-8")


def test_a_part_is_put_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- made by x: y -->\nold\n<!-- end -->\nb\n<!-- end -->\n", encoding="utf-8")
    lines.fill(page, {"x: y": "\\1 new\n"})
    assert page.read_text(encoding="utf-8") == "a\n<!-- made by x: y -->\n\\1 new\n<!-- end -->\nb\n<!-- end -->\n"
    with pytest.raises(ValueError, match=r"page\.md: expected one place for 'z', got 0"):
        lines.fill(page, {"z": ""})


def test_the_page_of_growth_is_what_was_measured() -> None:
    found = scale.records()
    assert scale.PAGE.read_text(encoding="utf-8") == scale.page(found)
    assert scale.summarize(found) in DOCS
    assert scale.small(found) in DOCS
    assert scale.growth(found) in DOCS


def test_the_tables_of_landmarks_are_what_was_measured() -> None:
    found = landmarks.records()
    assert landmarks.fits(found) in DOCS
    assert landmarks.kernels(found) in DOCS


def test_the_page_of_shapes_is_what_was_measured() -> None:
    tables = shapes.tables(shapes.records())
    assert tables in DOCS
    assert tables in shapes.PAGE.read_text(encoding="utf-8")


def test_the_table_of_labelled_target_rows_is_what_was_measured() -> None:
    assert target_rows.table() in DOCS


def test_the_page_of_everyday_speed_is_what_was_measured() -> None:
    assert speed.PAGE.read_text(encoding="utf-8") == speed.page(speed.read_records())


def test_the_page_of_other_systems_is_what_was_measured() -> None:
    assert systems_scale.PAGE.read_text(encoding="utf-8") == systems_scale.page(systems_scale.records())


def test_the_page_of_linkage_is_what_was_measured() -> None:
    found = sorted(lines.read(linkage.RECORDS), key=lambda record: record["rows"])
    assert linkage.PAGE.read_text(encoding="utf-8") == linkage.render(found)
