"""Whether a source helps, on rows of one's own."""
