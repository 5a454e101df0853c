"""``catena run``: one prompt without a screen, from its request to its exit status.

Its conversation is like any other: listed and resumable, with a window of its own during the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from catena.app.services import serve_conversations
from catena.app.suspension import stopping_between_transactions
from catena.cli.run.answers import Terminal
from catena.cli.run.branch import BranchRequest, check_messages, open_target
from catena.cli.run.interrupts import Interrupts
from catena.cli.run.output import Output, Streams
from catena.cli.run.several import SeveralTurns, named_agents
from catena.cli.run.turn import HeadlessTurn, TurnRules, with_login_hint
from catena.errors import CommandRefused, ExitStatus, explain
from catena.log import log_to_file
from catena.settings.agents import default_agent, requested_agent, require_command, stored_agent
from catena.settings.settings import Settings, load_settings
from catena.settings.tables import Permissions
from catena.terminal.output import BackgroundWriter
from catena.workspace.directories import is_directory
from catena.workspace.lookup import find_conversation
from catena_acp.continuity.wording.problems import hold_words
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.prompts.rows import clears
from catena_acp.errors import AgentMissing, ReadOnly
from catena_acp.port.port import AgentSpec
from catena_acp.snapshots.restoring import FileChoice
from catena_store import records
from catena_store.conversations import conversations
from catena_store.database.database import Database, data_directory, default_path
from catena_store.errors import NotAttachable
from catena_store.records import Attachment
from catena_store.windows import inputs
from catena_store.windows.attached_files import MOST_FILES, read_file


@dataclass(frozen=True, slots=True)
class Request:
    """Arguments of ``catena run``."""

    prompt: str
    directory: str  # absolute
    piped: str = ""  # is sent behind the prompt, and is none of it: no template and no mention is looked for
    moves: bool = False  # it was named: a conversation whose own directory is gone continues there
    go_on: bool = False  # with the newest conversation of the directory
    resume: str | None = None  # id, beginning of an id, or title
    agent: str | None = None
    agent_command: str | None = None
    agents: tuple[str, ...] = ()  # several, of which each is asked
    further_directories: tuple[str, ...] = ()  # absolute
    attach: tuple[str, ...] = ()  # files, by path
    branch: BranchRequest = field(default_factory=BranchRequest)
    files: bool | None = None  # whether they go along; None is as the settings have it
    permissions: Permissions | None = None
    json: bool = False
    open_timeout: float = 600  # seconds


def run(request: Request) -> int:
    """Send the prompt and wait for the end of its turn; returns the exit status."""
    log_to_file(data_directory())
    return asyncio.run(_run(request))


async def _run(request: Request) -> int:
    """Run with signal handling and output; errors are reported and the output ended in any case."""
    interrupts = Interrupts()
    interrupts.install()
    out = BackgroundWriter(
        sys.stdout.fileno(), encoding=sys.stdout.encoding, on_broken=interrupts.output_closed
    )
    streams = _streams(request, out)
    output = streams.output()
    headless = _HeadlessRun(request, streams, output, interrupts)
    status: int = ExitStatus.FAILED
    try:
        status = await headless.status()
        status = interrupts.status or status
    except asyncio.CancelledError:
        if interrupts.status is None:
            raise
        status = interrupts.status
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told where the events go
        text, status = explain(error)
        status = ExitStatus.NO_AGENT if isinstance(error, AgentMissing) else status
        output.trouble(text, status)
    finally:
        headless.report_end(status)
        interrupts.allow_cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await output.flush()
    out.check()
    return status


def _streams(request: Request, out: BackgroundWriter) -> Streams:
    if request.json:
        return Streams(out, None)
    err = BackgroundWriter(sys.stderr.fileno(), encoding=sys.stdout.encoding)
    return Streams(out, err, shared_terminal=sys.stdout.isatty() and sys.stderr.isatty())


class _HeadlessRun:
    """One run, from its request to the end of its turn."""

    def __init__(self, request: Request, streams: Streams, output: Output, interrupts: Interrupts) -> None:
        self._request = request
        self._streams = streams
        self._output = output
        self._interrupts = interrupts
        self._turn: HeadlessTurn | SeveralTurns | None = None

    def report_end(self, status: int) -> None:
        """Report the end of the turn, also after an interrupt, or that none was begun."""
        if isinstance(self._turn, HeadlessTurn):
            self._output.ended(self._turn.ended, status)
        elif self._turn is not None:
            self._turn.end(status)
        else:
            self._output.ended(None, status)

    async def status(self) -> int:
        """Run the turn; returns the exit status. Raises CommandRefused, AgentError, StoreError; may be cancelled."""
        settings = load_settings()
        files = _read_files(self._request.attach)
        async with Database.open(default_path()) as db, stopping_between_transactions(db):
            db.tell_by(self._output.remark)
            try:
                return await self._run_turn(db, settings, files)
            finally:
                async with db.write() as tx:
                    if self._turn is None or not self._turn.said:
                        # The prompt stays in the prompt history.
                        await inputs.add(tx, self._request.prompt, self._request.directory)
                    await inputs.keep_newest(tx, settings.prompt_history)

    async def _run_turn(self, db: Database, settings: Settings, files: Sequence[Attachment]) -> int:
        request = self._request
        existing = await self._existing(db)
        several = named_agents(request.agents, settings)
        specs = [agent.spec for agent in several.values()]
        spec = specs[0] if specs else await self._agent(db, settings, existing)
        for each in (spec, *specs):
            require_command(each)
        policy = request.permissions or settings.permissions
        terminal = Terminal.find() if policy is Permissions.ASK else None
        # An agent that is only allowed to read may not write through the client either.
        may_write = policy is Permissions.ALLOW or terminal is not None
        by_rule = policy is not Permissions.DENY
        async with (
            serve_conversations(
                db,
                settings,
                chosen=spec,
                may_write=may_write,
                probe=False,
                asks_first=policy is not Permissions.ALLOW,
                read=sys.stderr.isatty(),
                rules=by_rule,
                tell=self._output.remark,
                settling=self._interrupts.settling,
                open_timeout=request.open_timeout,
            ) as live,
            _open(live, db, spec, existing, request) as opened,
            open_target(live, db, opened, _with_files(request, settings), spec) as target,
        ):
            conversation, window = target.conversation, target.conversation.window(target.window_id)
            await conversation.files.refuse_cut()
            if existing is not None and not is_directory(existing.cwd):
                await conversation.change_directory(request.directory)
                self._output.remark(
                    f"The directory {existing.cwd} is gone; continues in {request.directory}."
                )
            for directory in request.further_directories:
                await conversation.add_directory(directory)
            prompt = request.prompt
            if prompt.startswith("/") and not clears(prompt):
                from catena.cli.run.prompt_text import filled_in

                prompt = await filled_in(prompt, conversation.record.cwd, db)
            files = await _with_mentions(prompt, files, conversation)
            prompt = "\n\n".join(filter(None, (prompt, request.piped)))
            new = existing is None or conversation.id != existing.id
            self._output.conversation(conversation.record, target.branch, new=new)
            if target.branch and target.branch.left:
                self._output.remark(target.branch.left)
            rules = TurnRules(policy, terminal)
            if several:
                self._turn = SeveralTurns(several, self._streams, self._interrupts)
                choice = _with_files(request, settings).files
                await self._turn.run(target, db, prompt, files, rules, choice)
                return self._turn.status
            self._turn = HeadlessTurn(conversation, window, db, self._output, rules)
            edited = target.branch.edited_id if target.branch else None
            if clears(prompt):
                await self._turn.clear(prompt, edited=edited, empty=existing is None)
                return ExitStatus.ANSWERED
            choice = _with_files(request, settings).files
            await self._turn.send(
                window.say(prompt, files)
                if edited is None
                else window.edit(edited, prompt, files, choice=choice)
            )
            ended = await self._turn.follow(self._interrupts)
            ended = self._turn.ended = await with_login_hint(ended, conversation, window, settings)
            await self._turn.settle(self._interrupts)
        return self._turn.status_of(ended)

    async def _existing(self, db: Database) -> records.ConversationRecord | None:
        request = self._request
        if not request.go_on and request.resume is None:
            return None
        async with db.read() as reader:
            found = await find_conversation(reader, directory=request.directory, named=request.resume)
        if not request.moves and not is_directory(found.cwd):
            raise CommandRefused(
                f"the directory of this conversation is gone: {found.cwd}. --cwd DIR continues in another one"
            )
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


def _with_files(request: Request, settings: Settings) -> BranchRequest:
    """The branch of the prompt, with the files where they are to go along."""
    wanted = settings.files_follow if request.files is None else request.files
    if not wanted:
        return request.branch
    return replace(request.branch, files=FileChoice(where_kept=request.files is None))


def _read_files(paths: Sequence[str]) -> list[Attachment]:
    """Read the files to attach. Raises CommandRefused."""
    if len(paths) > MOST_FILES:
        raise CommandRefused(f"at most {MOST_FILES} files per prompt, not {len(paths)}")
    try:
        return [read_file(path) for path in paths]
    except NotAttachable as error:
        raise CommandRefused(str(error)) from error


async def _with_mentions(
    prompt: str, files: Sequence[Attachment], conversation: Conversation
) -> Sequence[Attachment]:
    """What is attached, and the files that the prompt mentions, as in the composer. Raises CommandRefused."""
    if "@" not in prompt or clears(prompt):
        return files
    from catena.mentions.mentions import with_mentions

    roots = (conversation.record.cwd, *conversation.directories)
    try:
        return await asyncio.to_thread(with_mentions, prompt, files, roots)
    except NotAttachable as error:
        raise CommandRefused(str(error)) from error


@asynccontextmanager
async def _open(
    live: Conversations,
    db: Database,
    spec: AgentSpec,
    existing: records.ConversationRecord | None,
    request: Request,
) -> AsyncIterator[Conversation]:
    """Open or create the conversation; an empty one is deleted at the end of the block. Raises ReadOnly.

    A conversation of another client can still be forked.
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
