"""Model files: a fitted system in one file, opened without trust in its writer; its maps as ONNX files."""

from isthmus.files.model_file import load, load_parts, model_card, save
from isthmus.files.onnx import export_onnx, to_onnx

__all__ = ["export_onnx", "load", "load_parts", "model_card", "save", "to_onnx"]
