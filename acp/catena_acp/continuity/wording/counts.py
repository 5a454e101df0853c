"""Text for a count of things."""

from __future__ import annotations


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """`1 message`, `2 messages`; ``nouns`` are several where no s makes them: `3 branches`."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"
