"""Reference rows in a common space, and the rules by which they name a row's class."""

from isthmus.retrieval.rules import REFERENCES, RULES, DecisionRule, References, decision_rule

__all__ = ["REFERENCES", "RULES", "DecisionRule", "References", "decision_rule"]
