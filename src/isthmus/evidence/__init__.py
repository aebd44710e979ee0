"""Scores, held-out measurements, comparisons and controls: what an answer rests on."""
