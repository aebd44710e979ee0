"""Rows that stand for their class in both domains, and the map that joins them."""

from isthmus.estimators.landmarks.cdls import CDLS

__all__ = ["CDLS"]
