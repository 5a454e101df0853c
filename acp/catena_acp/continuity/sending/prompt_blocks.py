"""A prompt with what is attached to it, as blocks that this agent takes: pure.

Pictures, sounds and texts go as such where the agent says that it takes them; anything else is named, for the agent to
read it where it lies. Nothing is left out in silence.

A prompt mentions a file as `@path`, and some of its lines as `@path:10-20`. With a backslash before it an `@` is the
agent's own, which hears it without the backslash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from catena_acp.port.abilities import Abilities
from catena_acp.port.session_events import (
    AudioBlock,
    FileBlock,
    ImageBlock,
    LinkBlock,
    PromptBlock,
    TextBlock,
)
from catena_store.records import Attachment

SHOWN_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # what models look at
HEARD_SOUNDS = frozenset(
    {"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/aac"}
)  # … and listen to
LONGEST_TEXT = 200_000  # bytes of a file that goes with a prompt as text; a longer one is named
_ESCAPED = re.compile(r"(?<!\S)\\(?=@)")
_LINES = re.compile(r":(\d+)(?:-(\d+))?$")


def prompt_blocks(text: str, attachments: Sequence[Attachment], abilities: Abilities) -> list[PromptBlock]:
    """The person's words first, so that a command of the agent's stays one, then what they attached."""
    return [TextBlock(_ESCAPED.sub("", text)), *(_block(each, abilities) for each in attachments)]


def _block(attachment: Attachment, abilities: Abilities) -> PromptBlock:
    content = attachment.content
    uri = _uri(attachment)
    if not attachment.kept:
        return LinkBlock(uri, _label(attachment))
    if abilities.image and attachment.mime in SHOWN_PICTURES:
        return ImageBlock(content, attachment.mime)
    if abilities.audio and attachment.mime in HEARD_SOUNDS:
        return AudioBlock(content, attachment.mime)
    if abilities.embedded_context:
        short = len(content) <= LONGEST_TEXT or attachment.path is None
        text = _as_text(content) if short else None
        if text is not None:
            return FileBlock(uri, attachment.mime, text)
        if attachment.path is None:
            return FileBlock(uri, attachment.mime, content)
    if attachment.path is None:  # a link would lead nowhere
        return TextBlock(f"[{attachment.name} ({attachment.mime}) was attached, which you cannot be sent.]")
    return LinkBlock(uri, _label(attachment))


def _label(attachment: Attachment) -> str:
    return attachment.name.removeprefix("@") if attachment.mentioned else attachment.name


def _uri(attachment: Attachment) -> str:
    """The address of a file; of some of its lines with these as its fragment, as editors link to them."""
    if attachment.path is None:
        return f"attachment:{quote(attachment.name)}"
    uri = Path(attachment.path).as_uri()
    lines = _LINES.search(attachment.name) if attachment.mentioned else None
    if lines is None or attachment.path.endswith(lines[0]):
        return uri
    return f"{uri}#L{lines[1]}" + (f"-L{lines[2]}" if lines[2] else "")


def _as_text(content: bytes) -> str | None:
    if b"\x00" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
