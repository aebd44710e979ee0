"""isthmus: one metric across two collections that are described by different features."""

from isthmus._version import __version__

__all__ = ["__version__"]
