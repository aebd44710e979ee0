"""Reference rows in a common space, and the rules by which they name a row's class."""

from isthmus.retrieval.references import REFERENCES, References, require_comparable
from isthmus.retrieval.rules import RULES, DecisionRule, check_rule, decision_rule, offers

__all__ = [
    "REFERENCES",
    "RULES",
    "DecisionRule",
    "References",
    "check_rule",
    "decision_rule",
    "offers",
    "require_comparable",
]
