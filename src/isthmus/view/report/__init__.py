"""A report as one self-contained HTML page."""
