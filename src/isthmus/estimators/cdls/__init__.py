"""Rows that stand for their class in both domains, and the map that joins them."""

from isthmus.estimators.cdls.estimator import CDLS

__all__ = ["CDLS"]
