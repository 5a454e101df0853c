"""Entry point of the command line; it imports nothing before Ctrl+C ends it without a traceback."""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    try:
        from catena.cli.command_line import run

        return run(argv)
    except KeyboardInterrupt:
        return 130
