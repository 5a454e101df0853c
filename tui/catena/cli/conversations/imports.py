"""``catena import``: conversations from files, our own exports and transcripts of other tools."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catena.errors import CommandRefused, ExitStatus, refusing_path
from catena.text.formats import truncate
from catena.text.json_shapes import dumps
from catena.text.safe_text import safe_line
from catena_acp.conversation.adoption.adoption import adopt_file
from catena_acp.errors import NotAdopted
from catena_acp.process_group import is_running
from catena_acp.transcripts.lines import UnreadableTranscript
from catena_acp.transcripts.sources import tool_of_file
from catena_store.conversations import conversations
from catena_store.database.database import Database, default_path
from catena_store.errors import NotImportable
from catena_store.exchange.importing import import_document
from catena_store.exchange.staging import is_document
from catena_store.ids import new_id, utc_now
from catena_store.records import Lease

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
    paths = []
    for file in files:
        with refusing_path(file):
            paths.append(Path(file).expanduser())
    return asyncio.run(_import_all(paths, json=json))


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
