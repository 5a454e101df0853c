"""Blocks of a message, which every front draws in its own way; their texts are as they were sent. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catena_acp.port.images import ImageNote


@dataclass(frozen=True, slots=True)
class Markdown:
    """The source of a text, which whoever draws it parses."""

    source: str


@dataclass(frozen=True, slots=True)
class Diff:
    """A file before and after; ``old`` is None for a new file, ``new`` if it is no text."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class OutputBlock:
    """What a call said, or the details of a notice."""

    text: str


@dataclass(frozen=True, slots=True)
class TerminalBlock(OutputBlock):
    """What a terminal shows, its text without colours."""

    id: str = ""
    coloured: str | None = None  # None of a terminal that we know nothing of
    hidden_lines: int = 0  # above the output, not kept
    exit_code: int | None = None
    signal: str = ""  # that ended the command


@dataclass(frozen=True, slots=True)
class Reference:
    """Content that is not shown; ``address`` is that of a page on the web."""

    kind: str
    description: str
    address: str


@dataclass(frozen=True, slots=True)
class Picture(Reference):
    """An image among the message's attachments."""

    image: ImageNote


@dataclass(frozen=True, slots=True)
class PlanStep:
    """An entry of a plan."""

    text: str
    status: str  # completed, in_progress, pending, …

    @property
    def done(self) -> bool:
        return self.status == "completed"


@dataclass(frozen=True, slots=True)
class Steps:
    """The entries of a plan, in order."""

    steps: tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True)
class FieldsBlock:
    """Names and values."""

    fields: tuple[tuple[str, str], ...]


Block = Markdown | Diff | OutputBlock | Picture | Reference | Steps | FieldsBlock


def text_in(value: object) -> str:
    """Read a stored text; "" for anything else."""
    return value if isinstance(value, str) else ""


def entries_in(value: object) -> Iterator[Mapping[str, Any]]:
    """Read a stored list of objects, without what is none."""
    return (
        (each for each in value if isinstance(each, Mapping)) if isinstance(value, list | tuple) else iter(())
    )


def link_in(entry: Mapping[str, Any]) -> Reference:
    """Read stored content that is not text: an image that we know, or what the agent says of it."""
    kind, words = text_in(entry.get("kind")), text_in(entry.get("description"))
    address, image = text_in(entry.get("address")), ImageNote.from_data(entry.get("image"))
    return Reference(kind, words, address) if image is None else Picture(kind, words, address, image)
