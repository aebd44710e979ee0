"""Arrays, linear algebra, validation, threads, progress and files: no theory."""
