"""Two domains to try things on: small loaders that return a :class:`DomainPair`."""

from isthmus.datasets.digits import load_digits_domains, shape_features
from isthmus.datasets.pair import DomainPair

__all__ = ["DomainPair", "load_digits_domains", "shape_features"]
