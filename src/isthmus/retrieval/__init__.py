"""Reference rows in a common space: ranked for other rows, and the rules by which they name a row's class."""

from isthmus.retrieval.hubness import Background, hub_scores, ranking
from isthmus.retrieval.rules import REFERENCES, RULES, DecisionRule, References, decision_rule

__all__ = [
    "REFERENCES",
    "RULES",
    "Background",
    "DecisionRule",
    "References",
    "decision_rule",
    "hub_scores",
    "ranking",
]
