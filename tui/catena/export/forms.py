"""The forms of an export, and the way from the store to each of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from catena.rendering.contents import Contents, ExportPart, Head, Titles
from catena.text.secrets import SecretMask
from catena_store import places
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.exchange.exporting import ExportSelection, select_branch, select_tree, write_document

_CHARACTERS, _PARTS = 100_000, 100  # that are drawn at a time


class ExportForm(StrEnum):
    """The form of an export."""

    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"

    @property
    def ending(self) -> str:
        """The ending of a file's name."""
        return "md" if self is ExportForm.MARKDOWN else self.value


class Renderer(Protocol):
    """What draws an export for people, piece by piece."""

    def begin(self, head: Head) -> str:
        """What stands above all passages."""
        ...

    def part(self, part: ExportPart) -> str:
        """One passage."""
        ...

    def end(self) -> str:
        """What stands below all passages."""
        ...


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The scope and form of an export."""

    conversation_id: str
    form: ExportForm
    tree: bool = False
    leaf_id: str | None = None  # of the branch; None for the newest
    masked: bool = True


class NothingToExport(StoreError):
    """A conversation without messages."""


async def exported(
    reader: Reader, request: ExportRequest, *, at: datetime, titles: Titles, mask: SecretMask | None
) -> AsyncIterator[str]:
    """Yield an export in pieces; ``at`` is its time. Raises NothingToExport and NotFound."""
    selected = await _select(reader, request)
    if not selected.messages:
        raise NothingToExport("The conversation has no messages yet.")
    if request.form is ExportForm.JSON:
        async for piece in write_document(reader, selected, at=at, rewriter=mask):
            yield piece
        return
    contents = Contents(reader, selected, titles=titles, exported_at=at, mask=mask)
    head = await contents.head()
    renderer = _renderer(request.form)
    yield await asyncio.to_thread(renderer.begin, head)
    async for parts in _together(contents.parts()):
        yield await asyncio.to_thread(_drawn, renderer, parts)
    yield await asyncio.to_thread(renderer.end)


def _drawn(renderer: Renderer, parts: Sequence[ExportPart]) -> str:
    return "".join(renderer.part(part) for part in parts)


async def _together(parts: AsyncIterator[ExportPart]) -> AsyncIterator[list[ExportPart]]:
    """Yield several short passages at a time, so that not each of them waits for a thread."""
    waiting: list[ExportPart] = []
    characters = 0
    async for part in parts:
        waiting.append(part)
        characters += sum(len(message.text) for message in part.messages)
        if characters > _CHARACTERS or len(waiting) >= _PARTS:
            yield waiting
            waiting, characters = [], 0
    yield waiting


def mask_for(request: ExportRequest, rules: Sequence[str]) -> SecretMask | None:
    """The mask of an export, with the person's own rules; None where nothing is to be masked."""
    return SecretMask([re.compile(rule) for rule in rules]) if request.masked else None


async def _select(reader: Reader, request: ExportRequest) -> ExportSelection:
    if request.tree:
        return await select_tree(reader, request.conversation_id)
    leaf = request.leaf_id or await places.to_show(reader, request.conversation_id)
    return await select_branch(reader, request.conversation_id, leaf)


def _renderer(form: ExportForm) -> Renderer:
    if form is ExportForm.MARKDOWN:
        from catena.rendering.markdown import MarkdownRenderer

        return MarkdownRenderer()
    from catena.rendering.html import HtmlRenderer

    return HtmlRenderer()
