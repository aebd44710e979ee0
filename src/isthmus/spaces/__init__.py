"""Coordinates: of one domain, by its features or a kernel, and of two domains side by side."""

from isthmus.spaces.joint import JointSpace
from isthmus.spaces.side import Side
from isthmus.spaces.space import FeatureSpace, KernelSpace, Space

__all__ = ["FeatureSpace", "JointSpace", "KernelSpace", "Side", "Space"]
