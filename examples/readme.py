"""Makes what the README shows: runs its commands on two files and its Python, and writes down what they said.

    python examples/readme.py               # the outputs, between the marks that say so
    python examples/readme.py --export .    # only the two files and the known pairs
    python examples/readme.py --pictures    # docs/names.png too, by examples/digits_demo.py: minutes

The two files are made from scikit-learn's images of digits: one has the pixels of 1,200 images, the other shape
features of 600 of them. The 600 images that only the first file has come with their digit. Of the others, 30 are
known pairs, and three of each digit are labelled in the second file.
"""

from __future__ import annotations

import argparse
import csv
import doctest
import io
import re
import subprocess
import sys
import textwrap
import time
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
README, PICTURE = ROOT / "README.md", ROOT / "docs" / "names.png"
N, KNOWN, LABELLED, SEED, WIDTH = 600, 30, 3, 100, 118
WHICH = "--id image --id scan"
COMMANDS = (
    f"match pixels.csv shapes.csv {WHICH} --drop digit --pairs pairs.csv -o matches.csv",
    f"label pixels.csv shapes.csv {WHICH} --label digit -o labels.csv",
    f"fit pixels.csv shapes.csv {WHICH} --drop digit --pairs pairs.csv -o digits.isthmus",
    "report matches.csv --source pixels.csv --target shapes.csv -o matches.html",
    "report digits.isthmus --source pixels.csv --target shapes.csv -o digits.html",
)
MARK = re.compile(r"(<!-- made by examples/readme\.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def export(folder: Path) -> dict[str, str]:
    """Write pixels.csv, shapes.csv and pairs.csv; return the digit of each image in shapes.csv."""
    import numpy as np
    from sklearn.datasets import load_digits

    from isthmus.data.datasets import shape_features

    images, y = load_digits(return_X_y=True)
    shapes = shape_features(images.reshape(-1, 8, 8) / 16)
    rng = np.random.default_rng(SEED)
    chosen = rng.permutation(len(y))[: 2 * N]
    both, labelled = chosen[:N], set(chosen[N:].tolist())
    pixels = [(f"i{i}", str(y[i]) * (i in labelled), *map(int, images[i])) for i in rng.permutation(chosen).tolist()]
    _write(folder / "pixels.csv", ["image", "digit", *(f"p{r}{c}" for r in range(8) for c in range(8))], pixels)
    lines, seen = [], Counter[int]()
    for i in rng.permutation(both).tolist():
        seen[y[i]] += 1
        lines.append((f"i{i}", str(y[i]) * (seen[y[i]] <= LABELLED), *(f"{value:.4f}" for value in shapes[i])))
    _write(folder / "shapes.csv", ["scan", "digit", *(f"s{k}" for k in range(shapes.shape[1]))], lines)
    _write(folder / "pairs.csv", ["image", "scan"], [(f"i{i}", f"i{i}") for i in both[:KNOWN]])
    return {f"i{i}": str(y[i]) for i in both}


def _write(path: Path, names: list[str], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def answers(folder: Path) -> str:
    """The commands as a user types them, each with what it says; what becomes of the columns is left out."""
    parts = []
    for command in COMMANDS:
        asked = [sys.executable, "-m", "isthmus", *command.split()]
        done = subprocess.run(asked, cwd=folder, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True)
        said = done.stdout.split("\n\n", 1)[-1].strip().splitlines()
        lines = [line for words in said for line in textwrap.wrap(words, WIDTH)]
        parts.append("\n".join([f"$ isthmus {command}", *lines]))
    return "```text\n" + "\n\n".join(parts) + "\n```\n"


def truth(folder: Path, digits: dict[str, str]) -> str:
    """Count how much of it is right, over all rows."""
    matches, labels = (_read(folder / name) for name in ("matches.csv", "labels.csv"))
    right = sum(row["source"] == row["target"] for row in matches)
    named = [digits[row["id"]] == row["class"] for row in labels if row["given"] == "false"]
    said = (
        f"In truth, {right} of the {len(matches)} matches are right, and {sum(named) / len(named):.0%} of the "
        f"{len(named)} classes."
    )
    return "\n".join(textwrap.wrap(said, WIDTH)) + "\n"


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def made() -> dict[str, str]:
    """What stands between the marks of the README, by the name in each."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        digits = export(folder)
        return {"commands": answers(folder), "truth": truth(folder, digits)}


def with_answers(text: str, parts: dict[str, str]) -> str:
    """The README with new text between its marks."""
    return MARK.sub(lambda found: f"{found[1]}{parts[found[2]]}{found[3]}", text)


def with_python(text: str) -> str:
    """The README with the outputs of its Python; one that still fits, with its dots, stays as it is."""
    lines, names, same = (
        text.splitlines(keepends=True),
        {"__name__": "__main__"},
        doctest.OutputChecker().check_output,
    )
    changed = []
    for example in doctest.DocTestParser().get_examples(text):
        said = io.StringIO()
        with redirect_stdout(said):
            exec(compile(example.source, "README.md", "single"), names)
        if not same(example.want, said.getvalue(), FLAGS):
            changed.append((example, said.getvalue()))
    for example, said in reversed(changed):
        start = example.lineno + example.source.count("\n")
        lines[start : start + example.want.count("\n")] = said.splitlines(keepends=True)
    return "".join(lines)


def draw() -> None:
    """The picture, by the demo with its defaults."""
    with TemporaryDirectory() as folder:
        demo = ROOT / "examples" / "digits_demo.py"
        subprocess.run([sys.executable, str(demo), "--output", folder], check=True)
        (Path(folder) / PICTURE.name).replace(PICTURE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", action="store_true", help="draw docs/names.png too")
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="only write the two files, and the known pairs")
    options = parser.parse_args()
    if options.export is not None:
        export(options.export)
        return
    began = time.perf_counter()
    parts = made()
    print(f"{len(COMMANDS)} commands, and counting: {time.perf_counter() - began:.0f} s")
    README.write_text(with_python(with_answers(README.read_text(encoding="utf-8"), parts)), encoding="utf-8")
    if options.pictures:
        draw()


if __name__ == "__main__":
    main()
