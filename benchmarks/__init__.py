"""How fast isthmus is, against itself and against metric-learn: ``python -m benchmarks``."""
