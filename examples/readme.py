"""Makes what the README shows: runs its commands on two files and its Python, and writes down what they said.

    python examples/readme.py --data FOLDER              # the outputs, between the marks that say so
    python examples/readme.py --data FOLDER --export .   # only the two files and the known pairs
    python examples/readme.py --data FOLDER --pictures   # docs/names.png too, by examples/digits_demo.py: minutes

The two files are made from descriptions of Debian packages (docs/datasets.md says where the texts come from): English
ones and French ones, each with its own columns. Half of the English packages have their section, and are none of the
French ones; of the others, 30 are known to be the same package, and the French ones have three sections of each kind.
"""

from __future__ import annotations

import argparse
import csv
import doctest
import gzip
import io
import json
import os
import random
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
TEXTS = Path("debian_descriptions") / "debian_descriptions.jsonl.gz"
N, KNOWN, SECTIONS, LABELLED, SEED, WIDTH = 600, 30, 8, 3, 100, 118
WHICH = "--id package --id paquet --text description"
COMMANDS = (
    f"match english.csv french.csv {WHICH} --drop section --pairs pairs.csv -o matches.csv",
    f"label english.csv french.csv {WHICH} --label section -o labels.csv",
    f"fit english.csv french.csv {WHICH} --drop section --pairs pairs.csv -o translations.isthmus",
    "report matches.csv --source english.csv --target french.csv -o matches.html",
    "report translations.isthmus --source english.csv --target french.csv -o translations.html",
)
MARK = re.compile(r"(<!-- made by examples/readme\.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def export(data: Path, folder: Path) -> dict[str, str]:
    """Write english.csv, french.csv and pairs.csv; the section of each French package is for who wants to count."""
    with gzip.open(data / TEXTS, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    common = [name for name, _ in Counter(row["section"] for row in rows).most_common(SECTIONS)]
    found = [row for row in rows if row["section"] in common and row.get("fr") and row["fr"].get("long")]
    draw = random.Random(SEED)
    draw.shuffle(found)
    both, others = found[:N], found[N : 2 * N]
    english = [(row, "") for row in both] + [(row, row["section"]) for row in others]
    french, seen = draw.sample(both, N), Counter[str]()
    draw.shuffle(english)
    _write(
        folder / "english.csv", "package section description", [(r["package"], s, _text(r["en"])) for r, s in english]
    )
    lines = []
    for row in french:
        seen[row["section"]] += 1
        lines.append((row["package"], row["section"] * (seen[row["section"]] <= LABELLED), _text(row["fr"])))
    _write(folder / "french.csv", "paquet section description", lines)
    _write(folder / "pairs.csv", "english french", [(row["package"], row["package"]) for row in both[:KNOWN]])
    return {row["package"]: row["section"] for row in both}


def _text(words: dict[str, str]) -> str:
    return f"{words['short']}. {words['long']}"


def _write(path: Path, names: str, rows: list[tuple[str, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names.split(), *rows])


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


def truth(folder: Path, sections: dict[str, str]) -> str:
    """How much of it is right, and how much the shared words would have found, over all rows."""
    import numpy as np

    from isthmus.matching.shared import shared_recall
    from isthmus.tables import Features, Plan, labels_of, read_table
    from isthmus.verdict.shared import SharedColumns

    matches, labels = (_read(folder / name) for name in ("matches.csv", "labels.csv"))
    right = sum(row["source"] == row["target"] for row in matches)
    named = [sections[row["id"]] == row["class"] for row in labels if row["given"] == "false"]
    tables = [read_table(folder / f"{name}.csv") for name in ("english", "french")]
    plans = [
        Plan.of(table, label="section", id=id, text=["description"])
        for table, id in zip(tables, ("package", "paquet"), strict=True)
    ]
    made = [Features.fit(plan, table) for plan, table in zip(plans, tables, strict=True)]
    shared = sorted(set(made[0].names) & set(made[1].names))
    X, Z = (f.transform(t)[:, [f.names.index(name) for name in shared]] for f, t in zip(made, tables, strict=True))
    ids = [table.column(plan.id).to_list() for table, plan in zip(tables, plans, strict=True)]
    pairs = np.array([(ids[0].index(name), ids[1].index(name)) for name in sections], dtype=np.intp)
    recall = shared_recall(X, Z, pairs)
    y, few = (labels_of(table, plan) for table, plan in zip(tables, plans, strict=True))
    used = [i for i, label in enumerate(y) if label is not None]
    rule = SharedColumns([[i, i] for i in range(len(shared))]).fit(X[used], y[used], Z, few)
    called = dict(zip(ids[1], rule.predict(Z), strict=True))
    plain = [called[row["id"]] == sections[row["id"]] for row in labels if row["given"] == "false"]
    said = (
        f"In truth, {right} of the {len(matches)} matches are right; by the shared words alone, {recall:.0%} of the "
        f"{N} packages find their translation. Of the {len(named)} classes {_share(named)} are right; by the shared "
        f"words alone {_share(plain)}."
    )
    return "\n".join(textwrap.wrap(said, WIDTH)) + "\n"


def _share(right: list[bool]) -> str:
    return f"{sum(right) / len(right):.0%}"


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def made(data: Path) -> dict[str, str]:
    """What stands between the marks of the README, by the name in each."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        sections = export(data, folder)
        return {"commands": answers(folder), "truth": truth(folder, sections)}


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
    named = os.environ.get("ISTHMUS_DATA")
    parser.add_argument("--data", type=Path, default=named and Path(named), help="the folder of data (ISTHMUS_DATA)")
    parser.add_argument("--pictures", action="store_true", help="draw docs/names.png too")
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="only write the two files, and the known pairs")
    options = parser.parse_args()
    if options.data is None or not (options.data / TEXTS).exists():
        parser.error(f"--data: expected a folder with {TEXTS.as_posix()}, got {options.data}.")
    if options.export is not None:
        export(options.data, options.export)
        return
    began = time.perf_counter()
    parts = made(options.data)
    print(f"{len(COMMANDS)} commands, and counting: {time.perf_counter() - began:.0f} s")
    README.write_text(with_python(with_answers(README.read_text(encoding="utf-8"), parts)), encoding="utf-8")
    if options.pictures:
        draw()


if __name__ == "__main__":
    main()
