"""The version, in a leaf, so that every room can print it."""

__version__ = "0.1.0"
