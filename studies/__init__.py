"""Studies that are made with isthmus: in the repository, not in the package."""
