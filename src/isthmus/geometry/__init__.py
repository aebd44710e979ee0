"""Kernels, coordinates, common spaces and discrepancies."""
