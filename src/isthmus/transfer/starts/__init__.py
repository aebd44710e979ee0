"""Starts: guesses of the classes of unlabelled target rows, each by another idea of how the domains go together."""
