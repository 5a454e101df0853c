"""What a session says before it was prompted: a greeting, or a history that its agent tells late. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from catena_acp.port.session_events import (
    ContextCompacted,
    Event,
    NoticeReported,
    OtherContent,
    PlanChanged,
    TextChunk,
    ToolCallChanged,
    TranscriptEvent,
    UnknownUpdate,
)

_LONGEST = 8_000  # characters of a greeting that are kept


def is_prompt(event: Event) -> bool:
    """True for words of the person, which a session that was just opened can only have from its history."""
    return isinstance(event, TextChunk | OtherContent) and event.role == "user"


def greeting_text(events: Iterable[TranscriptEvent]) -> str:
    """The words of a greeting, one paragraph for each message; whatever else it tells is named in a line."""
    paragraphs: list[tuple[object, str]] = []
    for event in events:
        match event:
            case TextChunk(role="user") | OtherContent(role="user") | ContextCompacted():
                continue
            case TextChunk(role=role, text=text, message_id=message_id):
                mark = (role, message_id)
                if paragraphs and paragraphs[-1][0] == mark:
                    text = paragraphs.pop()[1] + text
                paragraphs.append((mark, text))
            case _:
                paragraphs.append((None, _line(event)))
    return "\n\n".join(text.strip() for _, text in paragraphs if text.strip())[:_LONGEST]


def _line(event: TranscriptEvent) -> str:
    match event:
        case PlanChanged(entries):
            return "\n".join(f"- {entry.text}" for entry in entries)
        case ToolCallChanged(title=title, status=status):
            return " · ".join(word for word in (title, status) if word)
        case OtherContent(description=description):
            return f"[{description}]"
        case NoticeReported(text=text):
            return text
        case UnknownUpdate(kind=kind):
            return f"The agent sent an unknown update: “{kind}”."
        case _:
            return ""
