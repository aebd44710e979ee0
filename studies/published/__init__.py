"""Protocols that others published, with every system and control: ``python -m studies.published --help``."""
