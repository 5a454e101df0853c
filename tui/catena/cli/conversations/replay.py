"""``catena replay``: a conversation as a film, in the terminal or as an asciicast; nothing is sent or stored."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from catena.cli.conversations.export import tell_masked, write_export
from catena.cli.conversations.show import open_reading
from catena.errors import CommandRefused, ExitStatus
from catena.films.timeline import ReplayTimeline, timeline_of
from catena.rendering.contents import masked_message
from catena.settings.agents import titles_in_settings
from catena.settings.checks import check_theme
from catena.settings.settings import Settings, load_settings
from catena.text.formats import from_home
from catena.text.names import conversation_name
from catena.text.secrets import SecretMask
from catena_acp.agents.catalog import catalog
from catena_acp.spoken.spoken import seams_above
from catena_store import places
from catena_store.conversations import conversations, messages
from catena_store.database.database import Reader
from catena_store.records import ConversationRecord, Kind, Message

if TYPE_CHECKING:
    from catena.films.replay import ReplaySubject

_CAST_SIZE = (100, 30)
_CAST_ENVIRONMENT = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
_PAGE = 500  # messages that are read at a time


def replay(
    named: str,
    *,
    at: str | None,
    cast: str | None,
    force: bool,
    speed: float,
    size: tuple[int | None, int | None],
    masked: bool,
) -> int:
    """Play a conversation, or write it as an asciicast and list on standard error what was masked.

    Raises NotFound or Ambiguous for the conversation or the message, and CommandRefused for the file, for a standard
    output that is no terminal, and for a conversation without messages.
    """
    settings = load_settings()
    check_theme(settings)
    if cast is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandRefused("the screen needs a terminal; --cast FILE writes a file")
    with open_reading() as reading:

        async def find(reader: Reader) -> tuple[ConversationRecord, list[Message]]:
            found = await conversations.find(reader, named)
            leaf = (await messages.find(reader, found.id, at)).id if at is not None else None
            leaf = leaf or await places.to_show(reader, found.id)
            return found, await _branch(reader, leaf)

        record, branch = reading.read(find)
    if not branch:
        raise CommandRefused(f"conversation {record.id} has no messages yet", ExitStatus.FAILED)
    mask = SecretMask([re.compile(rule) for rule in settings.export.mask]) if masked else None
    shown = [masked_message(each, mask) for each in branch]
    timeline = timeline_of(list(seams_above(shown)))
    title, directory = record.title or "", from_home(record.cwd)
    if mask is not None:
        mask.begin("the title")
        title, directory = mask.rewrite(title), mask.rewrite(directory)
    # Masked before it is cut: the beginning of a secret does not look like one.
    title = conversation_name(title, next((each.text for each in shown if each.kind is Kind.USER), ""))
    if cast is None:
        _play(timeline, record, title, directory, settings, speed=speed)
        return ExitStatus.ANSWERED
    columns, rows = size[0] or _CAST_SIZE[0], size[1] or _CAST_SIZE[1]
    text = _cast(timeline, record, title, directory, settings, speed=speed, size=(columns, rows))
    if cast == "-":
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    else:
        write_export(cast, lambda put: _put(put, text), force=force)
    tell_masked(mask, sys.stderr)
    return ExitStatus.ANSWERED


def _put(put: Callable[[str], object], text: str) -> None:
    put(text)


async def _branch(reader: Reader, leaf: str | None) -> list[Message]:
    rows: list[Message] = []
    while leaf and (page := await messages.page_from(reader, leaf, len(rows), _PAGE)):
        rows += page
    return rows


def _play(
    timeline: ReplayTimeline,
    record: ConversationRecord,
    title: str,
    directory: str,
    settings: Settings,
    *,
    speed: float,
) -> None:
    from catena.films.replay import ReplayApp, play

    subject = _subject(record, title, directory, settings)
    asyncio.run(play(ReplayApp(timeline, subject, environment=os.environ, speed=speed)))


def _cast(
    timeline: ReplayTimeline,
    record: ConversationRecord,
    title: str,
    directory: str,
    settings: Settings,
    *,
    speed: float,
    size: tuple[int, int],
) -> str:
    from catena.films.recording import asciicast
    from catena.films.replay import ReplayApp
    from catena.films.replay import record as recorded

    subject = _subject(record, title, directory, settings)
    app = ReplayApp(timeline, subject, environment=_CAST_ENVIRONMENT, speed=speed, plays=False)
    recording = asyncio.run(recorded(app, timeline, size=size, speed=speed))
    colours: Mapping[str, str] = app.theme_variables
    return "".join(
        asciicast(recording, title=title, foreground=colours["foreground"], background=colours["background"])
    )


def _subject(record: ConversationRecord, title: str, directory: str, settings: Settings) -> ReplaySubject:
    from catena.films.replay import ReplaySubject

    known = next(
        (entry.short_title or entry.title for entry in catalog() if entry.name == record.agent), None
    )
    agent = (
        titles_in_settings()(record.agent, record.profile) or known or record.agent.removeprefix("command:")
    )
    return ReplaySubject(
        title=title,
        agent=agent,
        directory=directory,
        column=settings.width,
        half_rows=settings.half_rows,
        theme=settings.theme,
    )
