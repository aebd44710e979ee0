"""Find the rows of two collections that are the same object."""
