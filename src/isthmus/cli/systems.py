"""``isthmus systems``: the registry as a table."""

from isthmus.registry import systems


def run() -> None:
    """Print every system and control."""
    print(systems())
