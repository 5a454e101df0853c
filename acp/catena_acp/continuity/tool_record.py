"""Reader of a stored tool call's data, which may hold anything. Pure.

It imports nothing of the protocol, so that a transcript can be drawn before that is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """A place in a file that the call touches."""

    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class ToolPart:
    """One part of the call's content; what its type does not have is empty."""

    type: str  # text, diff, terminal or other
    text: str = ""
    path: str = ""  # of a diff
    old: str | None = None  # of a diff: None for a new file
    new: str | None = None  # of a diff: None if it is no text
    terminal_id: str = ""
    kind: str = ""  # of other content
    description: str = ""


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """A stored tool call; a text that is missing, or is none, is empty."""

    title: str
    kind: str  # read, edit, delete, move, search, execute, think, fetch, switch_mode, other, …
    status: str  # pending, in_progress, completed, failed, cancelled, unknown, …
    name: str
    places: tuple[ToolPlace, ...]
    content: Any  # as it is stored; ``parts`` reads it
    raw_input: Any
    raw_output: Any

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ToolRecord:
        """Read the data of a tool call's message."""
        return cls(
            title=_text(data.get("title")),
            kind=_text(data.get("kind")),
            status=_text(data.get("status")),
            name=_text(data.get("name")),
            places=tuple(_place(entry) for entry in _entries(data.get("locations"))),
            content=data.get("content"),
            raw_input=data.get("raw_input"),
            raw_output=data.get("raw_output"),
        )

    @property
    def parts(self) -> tuple[ToolPart, ...]:
        """The content, read anew each time: most readers want only the call's line."""
        return tuple(_part(entry) for entry in _entries(self.content))

    @property
    def label(self) -> str:
        """The call in a few words: its title, else its kind."""
        return self.title or self.kind or "a tool call"


def _place(entry: Mapping[str, Any]) -> ToolPlace:
    line = entry.get("line")
    return ToolPlace(_text(entry.get("path")), line if isinstance(line, int) else None)


def _part(entry: Mapping[str, Any]) -> ToolPart:
    match entry.get("type"):
        case "text":
            return ToolPart("text", text=_text(entry.get("text")))
        case "diff":
            old, new = entry.get("old"), entry.get("new")
            return ToolPart(
                "diff",
                path=_text(entry.get("path")),
                old=None if old is None else _text(old),
                new=new if isinstance(new, str) else None,
            )
        case "terminal":
            return ToolPart("terminal", text=_text(entry.get("output")), terminal_id=_text(entry.get("id")))
        case _:
            kind, description = _text(entry.get("kind")), _text(entry.get("description"))
            return ToolPart("other", kind=kind, description=description)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _entries(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []
