"""The data sets of the tables."""

from studies.datasets import load_office31_bow, load_office31_released, load_reuters, load_reuters600

__all__ = ["load_office31_bow", "load_office31_released", "load_reuters", "load_reuters600"]
