"""Transfer labels from a source to a target with other features."""
