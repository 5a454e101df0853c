"""The searchable text of a message, as it is shown, and the number of matches in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from catena.text.call_text import object_of, texts_of
from catena.text.safe_text import safe_line
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import Answer, Divider, Notice, Plan, Prompt, Seam, Thought, Unknown, spoken_of
from catena_store.records import Message


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
    match spoken_of(message):
        case Call() as call:
            return "\n".join((object_of(call), *texts_of(call), *(diff.new or "" for diff in call.diffs)))
        case Plan(steps):
            return "\n".join(safe_line(step.text) for step in steps)
        case Seam(text) | Divider(text, compacted=""):
            return f"{safe_line(text)}\n{detail}"
        case Notice(text, details=details):
            return f"{text}\n{details}"
        case Prompt(text) | Answer(text) | Thought(text):
            return text
        case Unknown() as unknown:
            return f"{unknown.head}\n{unknown.details}"
