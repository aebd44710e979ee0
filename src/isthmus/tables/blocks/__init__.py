"""Columns turned into features: what was learned from them, as plain values and arrays."""

from isthmus.tables.blocks.block import Block
from isthmus.tables.blocks.categories import Categories
from isthmus.tables.blocks.matrices import MatrixPart
from isthmus.tables.blocks.numbers import Numbers
from isthmus.tables.blocks.words import Words

__all__ = ["Block", "Categories", "MatrixPart", "Numbers", "Words"]
