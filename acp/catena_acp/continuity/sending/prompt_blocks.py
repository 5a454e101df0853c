"""A prompt with what is attached to it, as blocks that this agent takes: pure.

Pictures go as pictures and texts as texts where the agent says that it takes them; anything else is named, for the
agent to read it where it lies. Nothing is left out in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from catena_acp.abilities import Abilities
from catena_acp.session_events import FileBlock, ImageBlock, LinkBlock, PromptBlock, TextBlock
from catena_store.records import Attachment

_SHOWN_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # what models look at
_LONGEST_TEXT = 200_000  # bytes of a file that goes with a prompt as text; a longer one is named


def prompt_blocks(text: str, attachments: Sequence[Attachment], abilities: Abilities) -> list[PromptBlock]:
    """The person's words first, so that a command of the agent's stays one, then what they attached."""
    return [TextBlock(text), *(_block(each, abilities) for each in attachments)]


def _block(attachment: Attachment, abilities: Abilities) -> PromptBlock:
    content = attachment.content
    if abilities.image and attachment.mime in _SHOWN_PICTURES:
        return ImageBlock(content, attachment.mime)
    uri = _uri(attachment)
    if abilities.embedded_context:
        short = len(content) <= _LONGEST_TEXT or attachment.path is None
        text = _as_text(content) if short else None
        if text is not None:
            return FileBlock(uri, attachment.mime, text)
        if attachment.path is None:
            return FileBlock(uri, attachment.mime, content)
    return LinkBlock(uri, attachment.name)


def _uri(attachment: Attachment) -> str:
    if attachment.path is None:
        return f"attachment:{quote(attachment.name)}"
    return Path(attachment.path).as_uri()


def _as_text(content: bytes) -> str | None:
    if b"\x00" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
