"""Few labels: what a source is worth, and how often the verdict on it is wrong."""
