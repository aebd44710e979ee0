"""Two domains to try things on, and what two domains of your own are put into."""

from isthmus.datasets.collection import Collection
from isthmus.datasets.digits import load_digits, shape_features
from isthmus.datasets.pair import DomainPair
from isthmus.datasets.toy import load_toy

__all__ = ["Collection", "DomainPair", "load_digits", "load_toy", "shape_features"]
