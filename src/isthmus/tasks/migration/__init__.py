"""Keep an old vector index usable under a new embedding model."""
