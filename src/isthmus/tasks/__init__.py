"""The jobs: match two collections, transfer labels, migrate an index."""
