"""The forms of an export, the way from the store to each of them, and a branch beside the files of its directory."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from catena.errors import CommandRefused, refusing_path
from catena.export.files import free_path, refusing, writing
from catena.rendering.contents import Contents, ExportPart, Head, Titles
from catena.text.formats import from_home
from catena.text.secrets import Masked, SecretMask
from catena_store import places
from catena_store.database.database import Reader
from catena_store.errors import StoreError
from catena_store.exchange.exporting import ExportSelection, select_branch, select_tree, write_document
from catena_store.ids import utc_now

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


_WORD = re.compile(r"\s*(\S+)")


@dataclass(frozen=True, slots=True)
class WantedExport:
    """The export requested by the argument of `/export`."""

    form: ExportForm
    tree: bool
    file: str  # "" for one beside the others of the directory


def wanted_export(argument: str) -> WantedExport:
    """Read `[markdown|json|html] [tree] [FILE]`; without a form, the ending of the file tells it."""
    forms = {"md": ExportForm.MARKDOWN, "htm": ExportForm.HTML} | {form.value: form for form in ExportForm}
    form: ExportForm | None = None
    tree = False
    rest = argument
    while (word := _WORD.match(rest)) and (word[1].lower() in forms or word[1].lower() == "tree"):
        form = forms.get(word[1].lower(), form)
        tree = tree or word[1].lower() == "tree"
        rest = rest[word.end() :]
    file = rest.strip()
    return WantedExport(form or forms.get(Path(file).suffix[1:].lower(), ExportForm.MARKDOWN), tree, file)


async def export_branch(
    reader: Reader,
    wanted: WantedExport,
    *,
    conversation_id: str,
    leaf_id: str | None,
    directory: str,
    name: str,
    agent_title: str,
    rules: Sequence[str],
) -> str:
    """Write a branch, or all of them; return a line on the file's path and on the secrets that the rules masked.

    Without a file name, the file is named after the conversation. Raises CommandRefused if it cannot be written.
    """
    path = await asyncio.to_thread(_path, wanted, Path(directory), name, rules)
    request = ExportRequest(conversation_id, wanted.form, tree=wanted.tree, leaf_id=leaf_id)
    mask = mask_for(request, rules)
    await _write(reader, request, path, mask, agent_title=agent_title)
    return " · ".join(
        filter(None, (f"Wrote {from_home(str(path))}", masked_words(mask.masked if mask else [])))
    )


def masked_words(masked: list[Masked]) -> str:
    """How many secrets were masked, and of which kinds: never the secrets."""
    if not masked:
        return ""
    kinds = Counter(each.kind for each in masked)
    named = ", ".join(f"{count} × {kind}" if count > 1 else kind for kind, count in kinds.items())
    return f"{len(masked)} secret{'' if len(masked) == 1 else 's'} masked ({named})"


def _path(wanted: WantedExport, directory: Path, name: str, rules: Sequence[str]) -> Path:
    """Where to write. Blocks; raises CommandRefused where something is there."""
    with refusing_path(wanted.file or str(directory)):
        path = directory / Path(wanted.file).expanduser()
        if path.is_dir():
            named = SecretMask([re.compile(rule) for rule in rules]).rewrite(name)
            return free_path(path, named, wanted.form.ending)
        if path.exists():
            raise CommandRefused(f"{wanted.file} exists already. Name another file.")
    return path


async def _write(
    reader: Reader, request: ExportRequest, path: Path, mask: SecretMask | None, *, agent_title: str
) -> None:
    title_of: Callable[[str, str | None], str] = lambda *_: agent_title  # noqa: E731
    placing = writing(path)
    with refusing(str(path)):
        file = await asyncio.to_thread(placing.__enter__)
        try:
            async for piece in exported(reader, request, at=utc_now(), titles=title_of, mask=mask):
                file.write(piece)
        except BaseException as error:  # cancelled, too: nothing half written is left
            placing.__exit__(type(error), error, error.__traceback__)
            raise
        await asyncio.to_thread(placing.__exit__, None, None, None)
