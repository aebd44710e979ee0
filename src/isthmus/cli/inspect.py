"""``isthmus inspect``: the summary of a model file, and the columns that the model was fitted to.

Examples
--------
  isthmus inspect translations.isthmus
  isthmus inspect translations.isthmus --json

Nothing in the file is executed.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from isthmus.cli.arguments import add_output_options
from isthmus.cli.console import Console
from isthmus.cli.inputs import DOMAINS, add_model_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_model_option(parser)
    add_output_options(parser)


def run(options: argparse.Namespace, screen: Console) -> None:
    """Show the summary, and what the columns of either file became."""
    from isthmus.io.model_file import load_parts, model_card
    from isthmus.io.tables.features import Features

    card, parts = model_card(options.model), load_parts(options.model)
    for key, value in card.items():
        if value in (None, [], 0):  # such as the classes of a model that was fitted to pairs
            continue
        if isinstance(value, dict):
            known = {name: one for name, one in value.items() if one is not None}
            screen.say(f"{key.replace('_', ' ')}:", *(f"    {name}: {_words(one)}" for name, one in known.items()))
        else:
            screen.say(f"{key.replace('_', ' ')}: {_words(value)}")
    columns = {}
    for domain in DOMAINS:
        features = parts.get(domain)
        if isinstance(features, Features):
            columns[domain] = features.plan_lines()
            screen.say(f"{domain}:", *(f"    {line}" for line in columns[domain]))
    screen.answer(card | {"columns": columns})


def _words(value: Any) -> str:
    if type(value) is int:
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
