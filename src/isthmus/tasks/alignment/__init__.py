"""Align two collections softly, by the distances within each of them."""
