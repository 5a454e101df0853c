"""All that an agent sent of a tool call beside its title, as labelled texts, each whole. Pure.

What the agent calls the call (its title, kind and description) decides nothing; these parts are what it is about.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catena_acp.port.session_events import ToolCallChanged, ToolDiff, ToolOther, ToolTerminal, ToolText

# Arguments of an edit that are texts of the file, which its diff shows.
_CHANGED = frozenset(
    [
        "content",
        "contents",
        "file_text",
        "text",
        "old_string",
        "new_string",
        "oldString",
        "newString",
        "old_str",
        "new_str",
        "oldText",
        "newText",
        "old_text",
        "new_text",
    ]
)


@dataclass(frozen=True, slots=True)
class SubjectPart:
    """One part of what a request is about: an argument under its own name, a place, a text."""

    label: str
    text: str


def parts_of(call: ToolCallChanged) -> tuple[SubjectPart, ...]:
    """The parts of a call without its diffs, in the agent's order; a text that is the title or a diff is left out."""
    title = call.title or ""
    said = {title} if title.isprintable() else {""}  # a title stands on one line, and hides its line breaks
    changed: list[str] = []
    for content in call.content or ():
        if isinstance(content, ToolDiff):
            said |= {content.path}
            changed += [content.new, content.old or ""]
    return tuple(_unsaid(_all_parts(call), said, changed))


def _unsaid(parts: Iterator[SubjectPart], said: set[str], changed: list[str]) -> Iterator[SubjectPart]:
    for part in parts:
        in_diff = part.label in _CHANGED and any(part.text in text for text in changed)
        if part.text not in said and not in_diff:
            said.add(part.text)
            yield part


def _all_parts(call: ToolCallChanged) -> Iterator[SubjectPart]:
    raw = call.raw_input
    if isinstance(raw, Mapping):
        for key, value in raw.items():
            yield SubjectPart(str(key), _text_of(value))
    elif raw is not None:
        yield SubjectPart("input", _text_of(raw))
    for place in call.locations or ():
        yield SubjectPart("place", place.path)
    for content in call.content or ():
        match content:
            case ToolText(text):
                yield SubjectPart("text", text.strip())
            case ToolTerminal(terminal_id):
                yield SubjectPart("terminal", terminal_id)
            case ToolOther(description=description):
                yield SubjectPart("content", description)
            case _:
                pass


def _text_of(value: Any) -> str:
    """A value whole: words as a shell would read them, anything else that is no text as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        return shlex.join(value)
    return json.dumps(value, ensure_ascii=False, default=str)
