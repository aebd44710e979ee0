"""``isthmus systems``: the registry as a table, filtered by what there is; or what the evidence favours."""

from __future__ import annotations

import argparse

from isthmus.cli.arguments import add_speech
from isthmus.cli.screen import Screen

EXAMPLES = """\
examples:
  isthmus systems
  isthmus systems --without pairs --without equal-features
  isthmus systems --goal classes --labels-source 20 --labels-target 3 --unlabelled-rows 400
  isthmus systems --goal "same object" --pairs 30
  isthmus fit a.csv b.csv --label kind --system mlhd-rbf -o kinds.isthmus        # a name from the first column

--without leaves out systems that can't do without something. --goal asks which of those that the data allow are
favoured by the studies, and says which page tells it.
"""
MISSING = {"labels": "labels", "pairs": "pairs", "unlabelled": "unlabelled", "equal-features": "equal_features"}
GOALS = ("classes", "same class", "same object", "distances", "ranking")
COUNTS = {
    "labels_source": "labelled source rows per class",
    "labels_target": "labelled target rows per class, in classes that have any",
    "unlabelled_classes": "classes that no target row is labelled with",
    "pairs": "known pairs of rows",
    "unlabelled_rows": "target rows without a label",
    "n_source": "source rows in all",
    "n_target": "target rows in all",
}
TOLD = (
    *("name", "learns", "uses", "needs", "control", "reference", "best_for"),
    *("takes_pairs", "needs_pairs", "equal_features", "needs_unlabelled", "transductive"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What there is not, or what there is and what it is for; how the command speaks."""
    missing = "leave out what can't do without it; may be given again"
    parser.add_argument("--without", action="append", default=[], choices=MISSING, help=missing)
    advice = parser.add_argument_group("what the studies favour")
    advice.add_argument("--goal", choices=GOALS, help="what a system is wanted for")
    for name, about in COUNTS.items():
        advice.add_argument(f"--{name.replace('_', '-')}", type=int, default=0, metavar="N", help=f"{about} (0)")
    advice.add_argument("--equal-features", action="store_true", help="both collections have the same features")
    add_speech(parser)


def run(options: argparse.Namespace) -> None:
    """Print the table, or the advice."""
    screen = Screen.of(options)
    if options.goal is None:
        _list(options, screen)
        return
    from dataclasses import asdict

    from isthmus.recommendation import recommend

    counts = {name: getattr(options, name) for name in COUNTS}
    found = recommend(options.goal, **counts, equal_features=options.equal_features)
    screen.say(*str(found).splitlines())
    screen.answer(asdict(found))


def _list(options: argparse.Namespace, screen: Screen) -> None:
    from isthmus.registry import systems

    found = systems(**{MISSING[word]: False for word in options.without})
    screen.say(*str(found).splitlines())
    screen.answer({"systems": [{part: getattr(system, part) for part in TOLD} for system in found]})
