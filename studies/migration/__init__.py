"""What to do when the embedding model has changed: real models, real queries, every option."""
