"""``isthmus systems``: the registry as a table, filtered by what there is; or what the evidence favours."""

from __future__ import annotations

import argparse
import json

EXAMPLES = """\
examples:
  isthmus systems
  isthmus systems --without pairs --without equal-features
  isthmus systems --goal classes --labels-source 20 --labels-target 3 --unlabelled-rows 400
  isthmus systems --goal "same object" --pairs 30

--without leaves out systems that can't do without something. --goal asks which of those that the data allow are
favoured by the studies, and says which page tells it.
"""
MISSING = {"labels": "labels", "pairs": "pairs", "unlabelled": "unlabelled", "equal-features": "equal_features"}
COUNTS = {
    "labels_source": "labelled source rows per class",
    "labels_target": "labelled target rows per class, in classes that have any",
    "unlabelled_classes": "classes that no target row is labelled with",
    "pairs": "known pairs of rows",
    "unlabelled_rows": "target rows without a label",
    "n_source": "source rows in all",
    "n_target": "target rows in all",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What there is, and what it is for."""
    add = parser.add_argument
    add("--without", action="append", default=[], choices=MISSING, help="leave out what needs it; may be given again")
    add("--json", action="store_true", help="one JSON object on standard output, for machines")
    advice = parser.add_argument_group("what the studies favour")
    goals = "classes", "same class", "same object", "distances", "ranking"
    advice.add_argument("--goal", choices=goals, help="what a system is wanted for")
    for name, about in COUNTS.items():
        advice.add_argument(f"--{name.replace('_', '-')}", type=int, default=0, metavar="N", help=f"{about} (0)")
    advice.add_argument("--equal-features", action="store_true", help="both collections have the same features")


def run(options: argparse.Namespace) -> None:
    """Print the table, or the advice."""
    if options.goal is None:
        _list(options)
        return
    from dataclasses import asdict

    from isthmus.recommendation import recommend

    counts = {name: getattr(options, name) for name in COUNTS}
    found = recommend(options.goal, **counts, equal_features=options.equal_features)
    print(json.dumps(asdict(found), ensure_ascii=False) if options.json else found)


def _list(options: argparse.Namespace) -> None:
    from isthmus.registry import systems

    found = systems(**{MISSING[word]: False for word in options.without})
    if not options.json:
        print(found)
        return
    names = ("name", "learns", "uses", "needs", "control", "reference", "best_for", "transductive")
    rows = [{name: getattr(system, name) for name in names} for system in found]
    print(json.dumps({"systems": rows}, ensure_ascii=False))
