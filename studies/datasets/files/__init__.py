"""Readers for files of other kinds than the package reads: MATLAB's, and sparse matrices in parts."""
