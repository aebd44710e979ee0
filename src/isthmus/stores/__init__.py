"""Vector stores that an index lives in, and its migration to another model: written beside, verified, swapped."""
