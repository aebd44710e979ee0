"""Kernels, coordinates and common spaces."""
