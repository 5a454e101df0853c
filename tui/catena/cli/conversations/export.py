"""``catena export``: a conversation as Markdown, JSON or HTML; ``catena import``: conversations from files."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catena.cli.conversations.show import open_reading
from catena.errors import CommandRefused, ExitStatus
from catena.export import ExportForm, ExportRequest, exported, mask_for, writing
from catena.settings.agents import titles_in_settings
from catena.settings.settings import load_settings
from catena.text.formats import truncate
from catena.text.json_shapes import dumps
from catena.text.safe_text import safe_line
from catena.text.secrets import SecretMask, masked_lines
from catena_acp.agents.catalog import catalog
from catena_acp.conversation.adoption.adoption import adopt_file
from catena_acp.errors import NotAdopted
from catena_acp.process_group import is_running
from catena_acp.transcripts.lines import UnreadableTranscript
from catena_acp.transcripts.sources import tool_of_file
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database, Reader, default_path
from catena_store.errors import NotImportable
from catena_store.exchange.importing import import_document
from catena_store.exchange.staging import is_document
from catena_store.ids import new_id, utc_now
from catena_store.records import Lease

_CHARACTERS = 100_000  # that are written at a time


def export(
    named: str, *, form: ExportForm, tree: bool, at: str | None, path: str | None, force: bool, masked: bool
) -> int:
    """Export a conversation, and list on standard error what was masked.

    Raises NotFound or Ambiguous for the conversation or the message, and CommandRefused for the file.
    """
    rules = load_settings().export.mask if masked else ()
    with open_reading() as reading:

        async def find(reader: Reader) -> ExportRequest:
            found = await conversations.find(reader, named)
            leaf = (await messages.find(reader, found.id, at)).id if at is not None else None
            return ExportRequest(found.id, form, tree=tree, leaf_id=leaf, masked=masked)

        request = reading.read(find)
        mask, own_title = mask_for(request, rules), titles_in_settings()

        def title_of(name: str, profile: str | None) -> str:
            known = (entry.short_title or entry.title for entry in catalog() if entry.name == name)
            return own_title(name, profile) or next(known, name)

        with reading.snapshot() as step:

            def write(put: Callable[[str], object]) -> None:
                pieces = exported(step.reader, request, at=utc_now(), titles=title_of, mask=mask)
                while (piece := step.run(_next(pieces))) is not None:
                    put(piece)

            if path in (None, "-"):
                sys.stdout.flush()
                write(lambda piece: sys.stdout.buffer.write(piece.encode("utf-8", "replace")))
                sys.stdout.buffer.flush()
            else:
                write_export(Path(path).expanduser(), write, force=force)
    tell_masked(mask, sys.stderr)
    return ExitStatus.ANSWERED


async def _next(pieces: AsyncIterator[str]) -> str | None:
    """The next pieces, as one text; None at the end."""
    found: list[str] = []
    characters = 0
    while characters < _CHARACTERS and (piece := await anext(pieces, None)) is not None:
        found.append(piece)
        characters += len(piece)
    return "".join(found) or None


def write_export(path: Path, write: Callable[[Callable[[str], object]], None], *, force: bool) -> None:
    """Write a file that only the person can read. Raises CommandRefused."""
    try:
        with writing(path, force=force) as file:
            write(file.write)
    except FileExistsError as error:
        raise CommandRefused(f"{path} exists already; --force writes over it") from error
    except OSError as error:
        raise CommandRefused(
            f"{path} cannot be written: {error.strerror or error}", ExitStatus.FAILED
        ) from error


def tell_masked(mask: SecretMask | None, stream: Any) -> None:
    """List what was masked."""
    if mask is None or not mask.masked:
        return
    count = len(mask.masked)
    things = "1 thing that looks like a secret" if count == 1 else f"{count} things that look like secrets"
    print(f"catena: masked {things} (--no-mask leaves them):", file=stream)
    for line in masked_lines(mask.masked):
        print(f"  {safe_line(line)}", file=stream)


_TITLE = 60  # cells of a title
_OURS = "catena"


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What became of one file."""

    file: Path
    source: str  # catena, or the tool that wrote it
    id: str
    title: str | None
    state: str  # new, copied, extended or unchanged
    messages: int  # in the file; of another tool's: those that were added
    added: int
    restored: bool = False
    conversations: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def shape(self) -> dict[str, Any]:
        """It as JSON."""
        return {
            "file": str(self.file),
            "source": self.source,
            "id": self.id,
            "title": self.title,
            "state": self.state,
            "messages": self.messages,
            "added": self.added,
            "restored": self.restored,
            "conversations": list(self.conversations),
            "remarks": list(self.remarks),
        }

    @property
    def words(self) -> str:
        """It in one line, behind its id."""
        return " · ".join(filter(None, (truncate(safe_line(self.title or ""), _TITLE), *self._facts())))

    def _facts(self) -> Iterator[str]:
        match self.state:
            case "unchanged":
                yield "already here"
            case "extended":
                yield f"was here, {_count(self.added)} added"
            case "copied":
                yield f"{_count(self.added)}; its id was used here, so it has a new one"
            case _:
                yield _count(self.added)
        if self.restored:
            yield "no longer deleted"
        if others := len(self.conversations) - 1:
            yield f"and {others} more of its family"


def import_files(files: Sequence[str], *, json: bool) -> int:
    """Import each of the files, print the conversations' ids, and say on standard error why one was refused."""
    return asyncio.run(_import_all([Path(file).expanduser() for file in files], json=json))


async def _import_all(files: Sequence[Path], *, json: bool) -> int:
    done: list[ImportedFile] = []
    async with Database.open(default_path()) as db:
        for file in files:
            try:
                imported = await _import_file(db, file)
            except (NotImportable, NotAdopted, UnreadableTranscript, CommandRefused) as error:
                print(f"catena: {safe_line(str(file))}: {safe_line(str(error))}", file=sys.stderr)
                continue
            done.append(imported)
            if not json:
                print(f"{imported.id}  {imported.words}", flush=True)
                for remark in imported.remarks:
                    print(f"catena: {safe_line(remark)}", file=sys.stderr)
    if json:
        print(dumps([each.shape for each in done], indent=2))
    return ExitStatus.FAILED if len(done) < len(files) else ExitStatus.ANSWERED


async def _import_file(db: Database, file: Path) -> ImportedFile:
    try:
        if is_document(file):
            return await _import_document(db, file)
        if tool := tool_of_file(file):
            return await _adopt(db, file, str(tool))
    except OSError as error:
        raise CommandRefused(f"it cannot be read: {error.strerror or error}") from error
    raise NotImportable(
        "it is neither what `catena export --format json` writes nor a transcript of a tool that Catena knows"
    )


async def _import_document(db: Database, file: Path) -> ImportedFile:
    imported = await import_document(db, file, is_dead=_is_dead)
    if imported.existed:
        state = "extended" if imported.added else "unchanged"
    else:
        state = "copied" if imported.copied else "new"
    return ImportedFile(
        file=file,
        source=_OURS,
        id=imported.conversation_id,
        title=imported.title,
        state=state,
        messages=imported.messages,
        added=imported.added,
        restored=imported.restored,
        conversations=imported.conversations,
        remarks=tuple(
            f"its agent was the command {agent.removeprefix('command:')}: choose one with /agent"
            for agent in imported.unknown_agents
        ),
    )


def _is_dead(lease: Lease) -> bool:
    return not is_running(lease.owner, lease.heartbeat_at, utc_now())


async def _adopt(db: Database, file: Path, source: str) -> ImportedFile:
    adopted = await adopt_file(db, file, new_id=new_id)
    async with db.read() as reader:
        record = await conversations.get(reader, adopted.conversation_id)
    return ImportedFile(
        file=file,
        source=source,
        id=adopted.conversation_id,
        title=record.title if record else None,
        state="new" if adopted.new else "extended" if adopted.messages else "unchanged",
        messages=adopted.messages,
        added=adopted.messages,
        conversations=(adopted.conversation_id,),
        remarks=tuple(f"left out: {words}" for words in adopted.left_out),
    )


def _count(messages: int) -> str:
    return f"{messages:,} message{'' if messages == 1 else 's'}"
