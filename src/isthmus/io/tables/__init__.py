"""Read tables, detect what their columns are, and turn them into features."""
