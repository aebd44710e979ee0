"""Match two catalogues without a common word: one of them is enciphered.

Both catalogues describe the functions and classes of scikit-learn that are installed here. Each keeps seven of ten
sentences of every docstring, drawn separately, and the second one is in ROT13. No pair is known, no word is shared:
only the similarities within each catalogue can be compared.

    python examples/enciphered.py                  # write the files, match them, compare with the truth, draw
    python examples/enciphered.py --export FOLDER  # only write manual.csv, secret.csv and truth.csv
"""

from __future__ import annotations

import argparse
import codecs
import csv
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer

from isthmus.cli.process import run_command

# Only there after sklearn.experimental was imported: the tables would depend on it.
EXPERIMENTAL = {"HalvingGridSearchCV", "HalvingRandomSearchCV", "IterativeImputer"}
KEPT, SHORTEST, SEED = 0.7, 80, 0
LEFT, RIGHT, WRONG, SHOWN = "#1f4e79", "#117733", "#cc3311", 7


def read_docstrings() -> dict[str, list[str]]:
    """Return the sentences and lines of scikit-learn's public docstrings of 80 words and more, by name."""
    found: dict[str, str] = {}
    modules = [
        m.name for m in pkgutil.iter_modules(sklearn.__path__, "sklearn.") if not m.name.startswith("sklearn._")
    ]
    for module in ["sklearn", *sorted(set(modules) - {"sklearn.conftest"})]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = vars(importlib.import_module(module))
        for name, thing in sorted(names.items()):
            own = (
                not name.startswith("_")
                and name not in EXPERIMENTAL
                and str(getattr(thing, "__module__", "")).startswith("sklearn")
            )
            text = inspect.getdoc(thing) if own and callable(thing) else None
            # Aliases and inherited docstrings would be the same object twice.
            if text and len(text.split()) > SHORTEST and text not in found:
                found[text] = f"{module.removeprefix('sklearn.')}.{name}"
    split = re.compile(r"(?<=[.:])\s+|\n+")
    return {name: [part for part in split.split(text) if len(part.split()) > 3] for text, name in found.items()}


def export(folder: Path, seed: int = SEED) -> dict[str, str]:
    """Write manual.csv, secret.csv and truth.csv; return the name in the manual of every number of the secret one."""
    rng = np.random.default_rng(seed)
    texts = read_docstrings()

    def shorten(parts: list[str]) -> str:
        return " ".join(part for part in parts if rng.random() < KEPT)

    order = rng.permutation(len(texts))
    names = list(texts)
    truth = {f"r{k + 1:03}": names[i] for k, i in enumerate(order)}
    _write(folder / "manual.csv", ["name", "text"], [(name, shorten(texts[name])) for name in names])
    secret = [(number, codecs.encode(shorten(texts[name]), "rot13")) for number, name in truth.items()]
    _write(folder / "secret.csv", ["number", "grkg"], secret)
    _write(folder / "truth.csv", ["name", "number"], [(name, number) for number, name in truth.items()])
    return truth


def _write(path: Path, header: list[str], rows: list[tuple[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def count_right(folder: Path, truth: dict[str, str]) -> str:
    """Return how many of the matches in matches.csv are right, beside those of word overlap."""
    manual, secret, matches = (read(folder / f"{name}.csv") for name in ("manual", "secret", "matches"))
    right = sum(truth[row["target"]] == row["source"] for row in matches)
    words = TfidfVectorizer().fit([row["text"] for row in manual])
    cosines = words.transform([row["text"] for row in manual]) @ words.transform([row["grkg"] for row in secret]).T
    nearest = np.asarray(cosines.toarray().argmax(axis=0))
    by_words = sum(truth[row["number"]] == manual[k]["name"] for row, k in zip(secret, nearest, strict=True))
    return (
        f"In truth, {right} of the {len(matches)} matches are right. The nearest neighbour by tf-idf of words is "
        f"right for {by_words / len(secret):.0%} of the rows."
    )


def draw(folder: Path, truth: dict[str, str], picture: Path) -> None:
    """Draw some matches, spread over the confidences, as lines between the two catalogues."""
    from matplotlib.figure import Figure

    from isthmus.view.canvas import save_figure

    matches = sorted(read(folder / "matches.csv"), key=lambda row: -float(row["confidence"]))
    shown = [matches[k] for k in np.linspace(0, len(matches) - 1, SHOWN).astype(int)]
    places = np.random.default_rng(1).permutation(SHOWN)
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(0, 1), ylim=(SHOWN - 0.4, -0.95))
    axes.axis("off")
    for x, title in ((0.0, "manual.csv"), (0.6, "secret.csv (ROT13)")):
        axes.text(x, -0.7, title, fontsize=13, fontweight="bold")
    for y, (row, place) in enumerate(zip(shown, places, strict=True)):
        right = truth[row["target"]] == row["source"]
        for x, height, name, text in (
            (0.0, y, row["source"], row["source_text"]),
            (0.6, place, row["target"], row["target_text"]),
        ):
            axes.text(x, height - 0.16, name, color=LEFT, fontsize=10, fontweight="bold", va="center")
            axes.text(x, height + 0.2, textwrap.shorten(text, 52, placeholder=" …"), fontsize=9, va="center")
        colour = RIGHT if right else WRONG
        axes.plot([0.4, 0.59], [y, place], color=colour, linewidth=2)
        axes.text(0.39, y, f"{float(row['confidence']):.0%}", color=colour, fontsize=9, va="center", ha="right")
    save_figure(figure, picture)


def run(options: argparse.Namespace) -> None:
    """Match the catalogues as a user does, print the truth, and draw."""
    if options.export is not None:
        export(options.export, options.seed)
        return
    options.output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        truth = export(folder, options.seed)
        command = "match manual.csv secret.csv -o matches.csv"
        print(f"$ isthmus {command}", flush=True)
        subprocess.run([sys.executable, "-m", "isthmus", *command.split()], cwd=folder, check=True)
        print(count_right(folder, truth))
        draw(folder, truth, options.output / "enciphered")
    print(f"Some of them are drawn in {options.output / 'enciphered.png'}.")


def main(arguments: list[str] | None = None) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="only write the three files")
    parser.add_argument(
        "--output", type=Path, default=Path("demo-output"), help="folder of the picture (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="which sentences are kept (%(default)s)")
    options = parser.parse_args(arguments)
    return run_command("enciphered", lambda: run(options), "No picture was written.")


if __name__ == "__main__":
    sys.exit(main())
