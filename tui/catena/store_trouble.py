"""What a person typed and the store did not take: told where the screen is left, so that it can be copied."""

from __future__ import annotations

from collections.abc import Sequence

from catena.safe_text import safe, safe_line
from catena_store.errors import StoreError


def drafts_left(unkept: Sequence[tuple[str, StoreError]]) -> list[str]:
    """Drafts that could not be saved, each after the reason."""
    return [
        line
        for draft, error in unkept
        for line in (f"A draft could not be kept: {safe_line(str(error))}. It was:", safe(draft))
    ]


def typed_in_vain(texts: Sequence[str]) -> list[str]:
    """What was typed before the store failed to open."""
    typed = [safe(text) for text in texts if text.strip()]
    return ["What you had typed:", *typed] if typed else []
