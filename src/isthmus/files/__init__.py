"""Model files: a fitted system in one file, opened without trust in who wrote it."""

from isthmus.files.model_files import load, load_parts, model_card, save

__all__ = ["load", "load_parts", "model_card", "save"]
