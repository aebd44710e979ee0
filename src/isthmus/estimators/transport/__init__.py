"""Transport plans between the rows of two domains, by POT: no map for new rows."""

from isthmus.estimators.transport.plans import COOT, FGW, GW

__all__ = ["COOT", "FGW", "GW"]
