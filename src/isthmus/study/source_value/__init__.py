"""Measure whether a source helps to label a target."""
