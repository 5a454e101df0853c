"""Drafts as the store has them: the text, with a sign before and behind each paste that stands in it as one piece.

The signs are characters that Unicode keeps for the inner use of programs. A text that has one of them itself is stored
behind a third one, without pieces.
"""

from __future__ import annotations

import re

_BEGIN, _END, _PLAIN = "\ufdd0", "\ufdd1", "\ufdd2"
_SIGN = re.compile(f"[{_BEGIN}{_END}{_PLAIN}]")
_PIECE = re.compile(f"{_BEGIN}([^{_END}]*){_END}")


def stored_draft(*parts: str) -> str:
    """A draft to be stored, of what is no piece, a piece, what is none, and so on."""
    if any(map(_SIGN.search, parts)):
        return _PLAIN + "".join(parts)
    return "".join(f"{_BEGIN}{part}{_END}" if at % 2 else part for at, part in enumerate(parts))


def draft_text(stored: str) -> str:
    """The whole text of a stored draft."""
    return stored[1:] if stored.startswith(_PLAIN) else _PIECE.sub(r"\1", stored)


def draft_pieces(stored: str) -> tuple[str, ...]:
    """The pieces of a stored draft, in their order."""
    return () if stored.startswith(_PLAIN) else tuple(_PIECE.findall(stored))
