"""The section on the verdict: answers are asked for once, and stand on the page as they were given."""

import json

import pytest

from isthmus import InputError
from isthmus.study.records import VERSIONS, Record
from studies.labels import verdicts
from studies.labels.error_rates import VARIANTS
from studies.labels.verdicts import FILE, ask, curves, read, section

DIGITS = "digits pixels→shape"
POINT = {"labels": 1, "with_source": 0.7, "without": 0.6, "difference": 0.1, "low": 0.04, "high": 0.16}
SAID = {
    "pair": DIGITS,
    "question": "few",
    "seed": 0,
    "sentence": "The source is worth +10.0 points.",
    "curve": [POINT],
}


def error(variant, seed, score):
    return Record("error_rates", DIGITS, variant, seed, "verdict", "default", {}, score, 0.5, "done", None, VERSIONS)


def test_an_answer_is_asked_for_once(tmp_path, monkeypatch):
    asked = []

    class Answer:
        def to_dict(self):
            return {"sentence": "So it is.", "curve": []}

    monkeypatch.setattr(verdicts, "does_source_help", lambda *rows, **settings: asked.append(rows) or Answer())
    for _ in range(2):
        list(ask(None, tmp_path, [DIGITS]))
    assert len(asked) == 2
    assert [each["question"] for each in read(tmp_path)] == ["few", "names"]
    assert (asked[1][3] == -1).any()
    assert not (asked[0][3] == -1).any()


def test_the_section_says_what_was_answered():
    text = section([SAID], [])
    assert f"- **{DIGITS}**, every class labelled: The source is worth +10.0 points." in text
    assert curves([SAID]).rows == ((DIGITS, "60.0, +10.0 [4.0, 16.0]"),)
    assert section([], []) == ""


def test_errors_are_counted():
    spoilt = [variant for variant in VARIANTS if not variant.endswith("true")]
    found = [error(variant, seed, float(seed == 0)) for variant in spoilt for seed in range(4)]
    assert "| **all spoilt sources** | **24** | **6** |" in section([], found)


def test_a_file_of_others_is_one_sentence(tmp_path):
    (tmp_path / FILE).write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"expected a line of JSON for each verdict, got"):
        read(tmp_path)
    (tmp_path / FILE).write_text(json.dumps(SAID) + "\n", encoding="utf-8")
    assert read(tmp_path) == [SAID]
