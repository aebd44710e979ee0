"""Run the commands of the README and of docs/command-line.md and the README's Python, and write their outputs there.

    python examples/readme.py               # update the outputs, between their marks
    python examples/readme.py --export .    # only write the two files and the known pairs
    python examples/readme.py --pictures    # also draw the two pictures of the README: minutes

The two files are made from scikit-learn's images of digits: one has the pixels of 1,200 images, the other shape
features of 600 of them. The 600 images of the first file only have their digit as label. Of the others, 30 are
known pairs, and three of each digit are labelled in the second file.
"""

from __future__ import annotations

import argparse
import csv
import doctest
import io
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import enciphered

ROOT = Path(__file__).resolve().parents[1]
README, COMMAND_LINE = ROOT / "README.md", ROOT / "docs" / "command-line.md"
PICTURES = {
    "digits_demo.py": ROOT / "docs" / "names.png",
    "enciphered.py": ROOT / "docs" / "pictures" / "enciphered.png",
}
N, KNOWN, LABELLED, SEED, WIDTH = 600, 30, 3, 100, 118
WHICH = "--id image --id scan"
COMMANDS = (
    f"match pixels.csv shapes.csv {WHICH} --drop digit --pairs pairs.csv -o matches.csv",
    f"label pixels.csv shapes.csv {WHICH} --label digit -o labels.csv",
    f"fit pixels.csv shapes.csv {WHICH} --drop digit --pairs pairs.csv -o digits.isthmus",
    "report matches.csv --source pixels.csv --target shapes.csv -o matches.html",
    "report digits.isthmus --source pixels.csv --target shapes.csv -o digits.html",
)
ENCIPHERED = ("match manual.csv secret.csv -o matches.csv",)
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


def run_commands(folder: Path, commands: tuple[str, ...]) -> str:
    """Return the commands as a user types them, each with its output, without the lines on column types."""
    parts = []
    for command in commands:
        words = [sys.executable, "-m", "isthmus", *command.split()]
        done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True)
        output = done.stdout.split("\n\n", 1)[-1].strip().splitlines()
        lines = [line for long in output for line in textwrap.wrap(long, WIDTH)]
        parts.append("\n".join([f"$ isthmus {command}", *lines]))
    return "```text\n" + "\n\n".join(parts) + "\n```\n"


def count_right(folder: Path, digits: dict[str, str]) -> str:
    """Return how many matches and classes are right, over all rows."""
    matches, labels = (_read(folder / name) for name in ("matches.csv", "labels.csv"))
    right = sum(row["source"] == row["target"] for row in matches)
    named = [digits[row["id"]] == row["class"] for row in labels if row["given"] == "false"]
    sentence = (
        f"In truth, {right} of the {len(matches)} matches are right, and {sum(named) / len(named):.0%} of the "
        f"{len(named)} classes."
    )
    return _wrap(sentence)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def make_parts() -> dict[str, str]:
    """Return the texts between the marks of both pages, by the name of each mark."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        digits = export(folder)
        made = {"commands": run_commands(folder, COMMANDS), "truth": count_right(folder, digits)}
        truth = enciphered.export(folder)
        made["enciphered"] = run_commands(folder, ENCIPHERED) + "\n" + _wrap(enciphered.count_right(folder, truth))
        return made


def _wrap(sentence: str) -> str:
    return "\n".join(textwrap.wrap(sentence, WIDTH)) + "\n"


def replace_parts(text: str, parts: dict[str, str]) -> str:
    """Return a page with new text between its marks."""
    return MARK.sub(lambda found: f"{found[1]}{parts[found[2]]}{found[3]}", text)


def update_python(text: str) -> str:
    """Return the README with the outputs of its Python; an output that still matches, with its dots, is kept."""
    lines, names = text.splitlines(keepends=True), {"__name__": "__main__"}
    same = doctest.OutputChecker().check_output
    changed = []
    for example in doctest.DocTestParser().get_examples(text):
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(example.source, "README.md", "single"), names)
        if not same(example.want, output.getvalue(), FLAGS):
            changed.append((example, output.getvalue()))
    for example, new in reversed(changed):
        start = example.lineno + example.source.count("\n")
        lines[start : start + example.want.count("\n")] = new.splitlines(keepends=True)
    return "".join(lines)


def draw() -> None:
    """Draw the pictures by the demos with their defaults."""
    for script, picture in PICTURES.items():
        with TemporaryDirectory() as folder:
            subprocess.run([sys.executable, str(ROOT / "examples" / script), "--output", folder], check=True)
            shutil.move(Path(folder) / picture.name, picture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", action="store_true", help="also draw the two pictures")
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="only write the two files and the known pairs")
    options = parser.parse_args()
    if options.export is not None:
        export(options.export)
        return
    began = time.perf_counter()
    parts = make_parts()
    print(f"{len(COMMANDS) + len(ENCIPHERED)} commands: {time.perf_counter() - began:.0f} s")
    for page in (README, COMMAND_LINE):
        text = replace_parts(page.read_text(encoding="utf-8"), parts)
        page.write_text(update_python(text) if page == README else text, encoding="utf-8")
    if options.pictures:
        draw()


if __name__ == "__main__":
    main()
