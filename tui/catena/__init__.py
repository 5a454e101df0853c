"""The Textual app, the command line and headless runs."""

__all__ = ["__version__"]

try:
    from catena._version import __version__  # type: ignore[import-not-found, unused-ignore]
except ImportError:  # it was never installed
    __version__ = "0.1.0.dev0+unknown"
