"""Reader of a stored tool call's data, which may hold anything. Pure.

It imports nothing that speaks the protocol, so that a transcript can be drawn before that is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catena_acp.terminals.screen_text import without_colours
from catena_store.records import LOOKING_KINDS

_SIGNAL = re.compile("SIG[A-Z0-9+]{1,12}")


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """A place in a file that the call touches."""

    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class ToolPart:
    """One part of the call's content; what its type does not have is empty."""

    type: str  # text, diff, terminal or other
    text: str = ""  # of a terminal: without colours
    path: str = ""  # of a diff
    old: str | None = None  # of a diff: None for a new file
    new: str | None = None  # of a diff: None if it is no text
    terminal_id: str = ""
    output: str | None = None  # of a terminal of ours, in colour; None of one that we know nothing of
    hidden_lines: int = 0  # above the output, not kept
    exit_code: int | None = None
    signal: str = ""  # that ended the command
    kind: str = ""  # of other content
    description: str = ""
    image: Mapping[str, Any] | None = None  # the note of an image among the message's attachments


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """A stored tool call; a text that is missing, or is none, is empty."""

    title: str
    kind: str  # read, edit, delete, move, search, execute, think, fetch, switch_mode, other, …
    status: str  # pending, in_progress, completed, failed, cancelled, rejected, unknown, …
    name: str
    places: tuple[ToolPlace, ...]
    content: Any  # as it is stored; ``parts`` reads it
    raw_input: Any
    raw_output: Any
    subagent_of: str = ""  # the id of the tool call that started the subagent that made this one
    doubt: str = ""  # why the rest may not be all that it is about
    background: str = ""  # the agent's id of the work that went on after the call had returned

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
            subagent_of=_text(data.get("subagent_of")),
            background=_text(data.get("background")),
            doubt=_text(data.get("doubt")),
        )

    @property
    def starts_subagent(self) -> bool:
        """True for a call that hands a task to a subagent, as far as its arguments tell."""
        return isinstance(self.raw_input, Mapping) and isinstance(self.raw_input.get("subagent_type"), str)

    @property
    def acts(self) -> bool:
        """True unless the call only looks, as far as its kind tells; MCP tools and subagents may do anything."""
        of_server = any(each[:3].lower() == "mcp" for each in (self.name, self.title))
        return self.kind not in LOOKING_KINDS or of_server or self.starts_subagent

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
            output, hidden, code = entry.get("output"), entry.get("hidden_lines"), entry.get("exit_code")
            return ToolPart(
                "terminal",
                text=without_colours(_text(output)),
                output=output if isinstance(output, str) else None,
                hidden_lines=hidden if isinstance(hidden, int) and hidden > 0 else 0,
                exit_code=code if isinstance(code, int) else None,
                signal=name if _SIGNAL.fullmatch(name := _text(entry.get("signal"))) else "",
                terminal_id=_text(entry.get("id")),
            )
        case _:
            kind, description = _text(entry.get("kind")), _text(entry.get("description"))
            image = entry.get("image")
            return ToolPart(
                "other",
                kind=kind,
                description=description,
                image=image if isinstance(image, Mapping) else None,
            )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _entries(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []
