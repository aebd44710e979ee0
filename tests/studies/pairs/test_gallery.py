"""The gallery's page, on few texts of a made language."""

import numpy as np
import pytest

from studies.datasets.debian_texts import Texts
from studies.pairs import gallery


@pytest.fixture
def made_texts(monkeypatch):
    """Two hundred texts of two hundred topics' words; the other language has other words for the same."""
    rng = np.random.default_rng(0)
    weights = rng.gamma(0.2, size=(200, 30))
    drawn = [rng.choice(30, size=80, p=w / w.sum()) for w in weights]
    packages = tuple(f"package{i:03d}" for i in range(200))

    def read(folder=None, language="en"):
        texts = tuple(
            f"{language} title {i}. " + " ".join(f"{language}word{k}" for k in d) for i, d in enumerate(drawn)
        )
        return Texts(packages, ("section",) * 200, texts)

    monkeypatch.setattr(gallery, "read_debian_texts", read)
    monkeypatch.setattr(gallery, "ROWS", 120)


def test_the_truth_is_known_and_half_of_the_texts_have_a_partner(made_texts):
    given = gallery.Collections("fr", 0.5, None)
    assert np.mean(given.truth >= 0) == pytest.approx(0.5, abs=0.01)
    i = np.flatnonzero(given.truth >= 0)
    np.testing.assert_array_equal(given.left[i], given.right[given.truth[i]])
    assert given.right_share(given.truth) == 1.0
    assert 0.0 <= given.by_shared_words() < 0.2


@pytest.mark.slow
def test_the_page_has_a_verdict_and_a_table_per_section(made_texts):
    page = gallery.page()
    assert page.count("## English and") == 3
    assert page.count("```text") == 3
    assert "## English and German, 120 texts each" in page
    assert "50% with a translation" in page
