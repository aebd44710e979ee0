"""The runs of 0.1, kept as they were: nine systems, four pairs, twenty splits, and spoilt sources for MLHD alone."""

from studies.systems.first.old_records import old_records
from studies.systems.first.page import page
from studies.systems.first.specification import study

__all__ = ["old_records", "page", "study"]
