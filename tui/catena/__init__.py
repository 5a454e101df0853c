"""The Textual app, the command line and headless runs."""

__version__ = "0.1.0"
