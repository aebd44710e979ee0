"""How the paper split its collections."""

from __future__ import annotations

from isthmus.data.splits import Protocol

REUTERS = Protocol(20, 1, 20, test=300)
"""Of the multilingual Reuters collection."""

OFFICE = Protocol(20, 1, 10)
"""Of the Office collection: what remains is the test set."""
