"""What is looked for in a message: its text as it is shown, and how often a text is in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from catena.transcript.messages.notices import notice_details, plan_entries, seam_words
from catena.transcript.messages.tool_call import ToolCall
from catena_store.records import Kind, Message


class TextPattern:
    """A text, or any of several, in any case."""

    def __init__(self, text: str | Sequence[str]) -> None:
        texts = (text,) if isinstance(text, str) else tuple(filter(None, text))
        self._pattern = re.compile("|".join(map(re.escape, texts)), re.IGNORECASE)
        self._lower = texts[0].lower() if len(texts) == 1 and texts[0].isascii() else None

    def count(self, text: str) -> int:
        """Return the number of matches in ``text``."""
        if self._lower is not None and text.isascii():
            return text.lower().count(self._lower)
        return sum(1 for _ in self._pattern.finditer(text))

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in ``text``."""
        return self._pattern.finditer(text)


def searchable_text(message: Message, detail: str = "") -> str:
    """Return the searchable text of a message; ``detail`` is the prior context of a seam, if it is known."""
    match message.kind:
        case Kind.TOOL:
            call = ToolCall.of(message)
            return "\n".join((call.object, *call.texts, *(diff.new for diff in call.diffs)))
        case Kind.PLAN:
            return "\n".join(text for text, _ in plan_entries(message))
        case Kind.NOTICE:
            return f"{message.text}\n{notice_details(message)}"
        case Kind.SEAM:
            return f"{seam_words(message)}\n{detail}"
        case Kind.USER | Kind.AGENT | Kind.THOUGHT:
            return message.text
