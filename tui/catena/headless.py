"""``catena run``: one prompt without a screen.

The conversation that it makes is one like any other: listed, resumable, with a window of its own while it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from catena.agent_choice import agent_asked_for, agent_kept, default_agent, require_command
from catena.config import Permissions, Settings, SettingsInvalid, load_settings
from catena.directories import existing_directory
from catena.exit_status import ExitStatus, Refused
from catena.headless_output import JsonOutput, Output, PlainOutput
from catena.headless_permissions import Terminal
from catena.headless_turn import HeadlessTurn, status_of
from catena.interrupts import Interrupts
from catena.last_words import explain
from catena.log_file import log_to_file
from catena.outlet import Outlet
from catena.serving import serving
from catena.which_conversation import find_conversation
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations import Conversations
from catena_acp.conversation.core import ReadOnly
from catena_acp.conversation.news import TurnEnded
from catena_acp.errors import AgentError, AgentMissing
from catena_acp.port import AgentSpec
from catena_store import conversations, inputs, records, windows
from catena_store.database import Database, data_directory, default_path
from catena_store.errors import StoreError
from catena_store.ids import new_id


@dataclass(frozen=True, slots=True)
class Request:
    """What ``catena run`` was asked to do."""

    prompt: str
    directory: str  # absolute
    go_on: bool = False  # with the newest conversation of the directory
    resume: str | None = None  # id, beginning of an id, or title
    agent: str | None = None
    agent_command: str | None = None
    permissions: Permissions | None = None
    json: bool = False


def run(request: Request) -> int:
    """Send the prompt and stay until its turn has ended; returns the exit status."""
    log_to_file(data_directory())
    return asyncio.run(_told(request))


async def _told(request: Request) -> int:
    """Run, and end what is written as it must end, whatever happens."""
    interrupts = Interrupts()
    interrupts.install()
    output = _output(request, interrupts)
    headless = _HeadlessRun(request, output, interrupts)
    status: int = ExitStatus.FAILED
    try:
        status = await headless.status()
    except asyncio.CancelledError:
        if interrupts.status is None:
            raise
        status = interrupts.status
    except AgentMissing as error:
        status = ExitStatus.NO_AGENT
        output.trouble(str(error), ExitStatus.NO_AGENT)
    except ReadOnly as error:
        status = ExitStatus.HELD_ELSEWHERE
        output.trouble(str(error), ExitStatus.HELD_ELSEWHERE)
    except (Refused, SettingsInvalid, StoreError, AgentError) as error:
        text, status = explain(error)
        output.trouble(text, status)
    finally:
        output.ended(headless.ended, status)
        interrupts.only_writing_is_left()
        with contextlib.suppress(asyncio.CancelledError):
            await output.flush()
    return status


def _output(request: Request, interrupts: Interrupts) -> Output:
    encoding = sys.stdout.encoding
    out = Outlet(sys.stdout.fileno(), encoding=encoding, on_broken=interrupts.nobody_reads)
    if request.json:
        return JsonOutput(out)
    err = Outlet(sys.stderr.fileno(), encoding=encoding)
    return PlainOutput(out, err, one_terminal=sys.stdout.isatty() and sys.stderr.isatty())


class _HeadlessRun:
    """One run, from the request to the end of its turn."""

    def __init__(self, request: Request, output: Output, interrupts: Interrupts) -> None:
        self._request = request
        self._output = output
        self._interrupts = interrupts
        self._turn: HeadlessTurn | None = None

    @property
    def ended(self) -> TurnEnded | None:
        """How the turn ended, known also where we were interrupted; None where none was begun."""
        return self._turn.ended if self._turn else None

    async def status(self) -> int:
        """Run. Raises Refused, SettingsInvalid, AgentError, StoreError; cancelled by an interrupt."""
        settings = load_settings()
        async with Database.open(default_path()) as db:
            try:
                return await self._converse(db, settings)
            finally:
                if self._turn is None or not self._turn.said:
                    # What was typed is not lost.
                    async with db.write() as tx:
                        await inputs.add(tx, self._request.prompt, self._request.directory)

    async def _converse(self, db: Database, settings: Settings) -> int:
        request = self._request
        existing = await self._existing(db)
        spec = await self._agent(db, settings, existing)
        require_command(spec)
        policy = request.permissions or settings.permissions
        terminal = Terminal.at_hand() if policy is Permissions.ASK else None
        # An agent that may only read is not lent our hands either.
        may_write = policy is Permissions.ALLOW or terminal is not None
        async with (
            serving(db, settings, chosen=spec, may_write=may_write) as live,
            _opened(live, db, spec, existing, request.directory) as conversation,
            _window(db, conversation.id) as window_id,
        ):
            if existing is not None and spec.name != conversation.record.agent:
                await conversation.set_agent(window_id, spec)
            self._output.conversation(conversation.record, new=existing is None)
            self._turn = HeadlessTurn(
                conversation,
                window_id,
                db,
                self._output,
                policy=policy,
                terminal=terminal,
            )
            ended = await self._turn.take(request.prompt, self._interrupts)
        return self._interrupts.status or status_of(ended, refused=self._turn.refused)

    async def _existing(self, db: Database) -> records.Conversation | None:
        request = self._request
        if not request.go_on and request.resume is None:
            return None
        async with db.read() as reader:
            found = await find_conversation(reader, directory=request.directory, named=request.resume)
        existing_directory(found.cwd)
        return found

    async def _agent(
        self, db: Database, settings: Settings, existing: records.Conversation | None
    ) -> AgentSpec:
        asked_for = agent_asked_for(self._request.agent, self._request.agent_command, settings)
        if asked_for is not None:
            return asked_for
        if existing is not None:
            return agent_kept(existing.agent, settings)
        async with db.read() as reader:
            newest = await conversations.latest(reader, cwd=self._request.directory)
            newest = newest or await conversations.latest(reader)
        return default_agent(settings, newest.agent if newest else None)


@asynccontextmanager
async def _opened(
    live: Conversations, db: Database, spec: AgentSpec, existing: records.Conversation | None, directory: str
) -> AsyncIterator[Conversation]:
    """The conversation, opened or made; one in which nothing was said leaves no trace. Raises Refused."""
    if existing is not None:
        conversation = await live.open(existing.id)
    else:
        conversation = await live.create(agent=spec, cwd=directory)
    try:
        if conversation.read_only:
            raise Refused("another Catena has this conversation open", ExitStatus.HELD_ELSEWHERE)
        yield conversation
    finally:
        await live.close(conversation.id)
        async with db.write() as tx:
            await conversations.delete_if_empty(tx, conversation.id)


@asynccontextmanager
async def _window(db: Database, conversation_id: str) -> AsyncIterator[str]:
    """A window of no workspace, at the conversation's newest leaf, for as long as it is needed."""
    window_id = new_id()
    async with db.write() as tx:
        leaf = await windows.newest_leaf(tx, conversation_id)
        await windows.open(tx, id=window_id, conversation_id=conversation_id, leaf_id=leaf)
    try:
        yield window_id
    finally:
        async with db.write() as tx:
            await windows.close(tx, window_id)
