"""The jobs: match or align two collections, transfer labels, migrate an index."""
