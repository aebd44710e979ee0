"""Search in a common space: engines, an index of rows, and the rules by which rows name a class."""

from isthmus.geometry.similarity import Background, hub_scores, rank_neighbours
from isthmus.retrieval.engines import HNSW, IVF, Exact, Flat
from isthmus.retrieval.index import Index, Matches
from isthmus.retrieval.rules import REFERENCES, RULES, DecisionRule, References, decision_rule

__all__ = [
    "HNSW",
    "IVF",
    "REFERENCES",
    "RULES",
    "Background",
    "DecisionRule",
    "Exact",
    "Flat",
    "Index",
    "Matches",
    "References",
    "decision_rule",
    "hub_scores",
    "rank_neighbours",
]
