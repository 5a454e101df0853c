"""``catena run``: one prompt without a screen.

The conversation that it makes is one like any other: listed, resumable, with a window of its own while it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from catena.app.services import serve_conversations
from catena.cli.run.branch import BranchRequest, check_messages, place_for
from catena.cli.run.interrupts import Interrupts
from catena.cli.run.output import JsonOutput, Output, PlainOutput
from catena.cli.run.permissions import Terminal
from catena.cli.run.turn import HeadlessTurn, status_of, with_way_in
from catena.cli.run.writer import Outlet
from catena.errors import ExitStatus, Refused, explain
from catena.log import log_to_file
from catena.settings.agents import default_agent, requested_agent, require_command, stored_agent
from catena.settings.settings import Permissions, Settings, load_settings
from catena.workspace.directories import existing_directory
from catena.workspace.lookup import find_conversation
from catena_acp.continuity.events import TurnEnded
from catena_acp.continuity.hold_wording import hold_words
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations import Conversations
from catena_acp.errors import AgentError, AgentMissing, ReadOnly
from catena_acp.port import AgentSpec
from catena_store import records
from catena_store.conversations import conversations
from catena_store.database.database import Database, data_directory, default_path
from catena_store.errors import NotAttachable, StoreError
from catena_store.records import Attachment
from catena_store.windows import inputs
from catena_store.windows.attachments import MOST_FILES, read_file


@dataclass(frozen=True, slots=True)
class Request:
    """What ``catena run`` was asked to do."""

    prompt: str
    directory: str  # absolute
    go_on: bool = False  # with the newest conversation of the directory
    resume: str | None = None  # id, beginning of an id, or title
    agent: str | None = None
    agent_command: str | None = None
    further_directories: tuple[str, ...] = ()  # absolute
    attach: tuple[str, ...] = ()  # files, by path
    branch: BranchRequest = field(default_factory=BranchRequest)
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
    except (Refused, StoreError, AgentError) as error:
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
        """Run. Raises Refused, AgentError, StoreError; cancelled by an interrupt."""
        settings = load_settings()
        files = _attached(self._request.attach)
        async with Database.open(default_path()) as db:
            db.on_repair(self._output.remark)
            try:
                return await self._converse(db, settings, files)
            finally:
                if self._turn is None or not self._turn.said:
                    # What was typed is not lost.
                    async with db.write() as tx:
                        await inputs.add(tx, self._request.prompt, self._request.directory)

    async def _converse(self, db: Database, settings: Settings, files: Sequence[Attachment]) -> int:
        request = self._request
        existing = await self._existing(db)
        spec = await self._agent(db, settings, existing)
        require_command(spec)
        policy = request.permissions or settings.permissions
        terminal = Terminal.at_hand() if policy is Permissions.ASK else None
        # An agent that may only read is not lent our hands either.
        may_write = policy is Permissions.ALLOW or terminal is not None
        async with (
            serve_conversations(
                db, settings, chosen=spec, may_write=may_write, read=sys.stderr.isatty()
            ) as live,
            _opened(live, db, spec, existing, request) as opened,
            place_for(live, db, opened, request.branch, spec) as place,
        ):
            conversation, window = place.conversation, place.conversation.window(place.window_id)
            for directory in request.further_directories:
                await conversation.add_directory(directory)
            new = existing is None or conversation.id != existing.id
            self._output.conversation(conversation.record, new=new)
            if place.branch:
                self._output.branch(place.branch)
            self._turn = HeadlessTurn(
                conversation,
                window,
                db,
                self._output,
                policy=policy,
                terminal=terminal,
            )
            edited = place.branch.edited_id if place.branch else None
            ended = await self._turn.take(request.prompt, self._interrupts, files, edited=edited)
            ended = self._turn.ended = await with_way_in(ended, conversation, window, settings)
            await self._turn.settle()
        return self._interrupts.status or status_of(ended, refused=self._turn.refused)

    async def _existing(self, db: Database) -> records.ConversationRecord | None:
        request = self._request
        if not request.go_on and request.resume is None:
            return None
        async with db.read() as reader:
            found = await find_conversation(reader, directory=request.directory, named=request.resume)
        existing_directory(found.cwd)
        await check_messages(db, found, request.branch)
        return found

    async def _agent(
        self, db: Database, settings: Settings, existing: records.ConversationRecord | None
    ) -> AgentSpec:
        asked_for = requested_agent(self._request.agent, self._request.agent_command, settings)
        if asked_for is not None:
            return asked_for
        if existing is not None:
            return stored_agent(existing.agent, existing.profile, settings)
        async with db.read() as reader:
            newest = await conversations.latest(reader, cwd=self._request.directory)
            newest = newest or await conversations.latest(reader)
        return default_agent(settings, (newest.agent, newest.profile) if newest else None)


def _attached(paths: Sequence[str]) -> list[Attachment]:
    """The files of these paths. Raises Refused."""
    if len(paths) > MOST_FILES:
        raise Refused(f"a prompt takes {MOST_FILES} files, not {len(paths)}")
    try:
        return [read_file(path) for path in paths]
    except NotAttachable as error:
        raise Refused(str(error)) from error


@asynccontextmanager
async def _opened(
    live: Conversations,
    db: Database,
    spec: AgentSpec,
    existing: records.ConversationRecord | None,
    request: Request,
) -> AsyncIterator[Conversation]:
    """The conversation, opened or made; one in which nothing was said leaves no trace. Raises ReadOnly.

    To be forked, it may be another client's.
    """
    if existing is not None:
        conversation = await live.open(existing.id)
    else:
        conversation = await live.create(agent=spec, cwd=request.directory)
    try:
        if conversation.read_only and not request.branch.fork:
            raise ReadOnly(hold_words(conversation.holder, live.owner.host))
        yield conversation
    finally:
        await live.close(conversation.id)
        async with db.write() as tx:
            await conversations.delete_if_empty(tx, conversation.id)
