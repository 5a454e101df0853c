"""Forks: a conversation of its own that shares a beginning with another one.

Nothing is copied. Its first row will hang from a row of the source, and where the agent offers it, the session that
carries it is a fork of one that heard just that. The fork is whole, with its id and its link, before anybody sees it; a
fork that fails leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from catena_acp.continuity.routing.slash_commands import draft_of
from catena_acp.continuity.services import Services
from catena_acp.continuity.sessions.opening import end_upstream, is_part_of, point_at, settled_point
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.inspection.price import Price
from catena_acp.conversation.journal import move_window, opened_window
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import NotOfThisBranch, StillAtWork
from catena_acp.port.port import AgentSpec
from catena_acp.tasks import shielded
from catena_store import places
from catena_store.chains import links
from catena_store.conversations import conversations, messages
from catena_store.database.database import Reader
from catena_store.errors import NotFound
from catena_store.records import ConversationRecord, Link, Message
from catena_store.snapshots import files_place
from catena_store.snapshots.files_place import FilesPlace
from catena_store.windows import attachments, windows
from catena_store.windows.journal import Act

_CLOSING_SECONDS = 1.0  # that an agent may take to end a fork that came to nothing


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A request for a fork: its source, and the window, agent and directories to use."""

    source: ConversationRecord
    window_id: str | None  # the window that it is done in; None in a list
    at: str | None  # the message that the fork is to go on from; None for where the window stands
    side_by_side: bool  # in a window of its own
    agent: AgentSpec | None = None  # another one
    cwd: str | None = None  # another directory
    directories: Sequence[str] = ()  # beside those of the source
    mcp_servers: Sequence[dict[str, object]] = ()  # beside those of the source


@dataclass(frozen=True, slots=True)
class ConversationFork:
    """A fork that is committed."""

    conversation: Conversation
    window: Window
    link: Link | None  # the agent's own fork that it begins in; None if its first prompt is told
    price: Price  # of its first prompt


@dataclass(frozen=True, slots=True)
class _Point:
    """Where the fork begins, and what is to be the draft there."""

    leaf_id: str | None
    prompt: Message | None  # a fork at a prompt begins before it, with its words to be changed


class ForkOperation:
    """Makes one fork; ``open`` opens a conversation, ``close`` ends one that is live."""

    def __init__(
        self,
        services: Services,
        open: Callable[[str], Awaitable[Conversation]],
        close: Callable[[str], Awaitable[None]],
        source: Conversation | None,  # where it is live
        wanted: ForkRequest,
    ) -> None:
        self._services = services
        self._open = open
        self._close = close
        self._source = source
        self._wanted = wanted

    async def make(self) -> ConversationFork:
        """Make it. Raises AgentError in the agent's words, NotOfThisBranch, NotFound, StoreError: nothing is left."""
        wanted = self._wanted
        self._refuse_in_turn()
        if self._source:
            await self._source.settle()
        async with self._services.db.read() as reader:
            point = await _point(reader, wanted)
        record = await self._kept(point.leaf_id)
        live: LiveSession | None = None

        async def undo() -> None:
            await shielded(self._undone(record.id, live))

        async with contextlib.AsyncExitStack() as undoing:
            undoing.push_async_callback(undo)
            conversation = await self._open(record.id)
            window_id = self._in_place or self._services.new_id()
            forked = await conversation.branches.begin_in_fork(window_id, point.leaf_id, wanted.source.cwd)
            live = forked.live
            await shielded(self._show(record, window_id, point))
            undoing.pop_all()
        if self._source and self._in_place:
            self._source.leave(window_id)
        window = conversation.window(window_id)
        price = await conversation.chain.price(window, leaf_id=point.leaf_id, refused=forked.refused)
        async with self._services.db.read() as reader:
            link = await links.get(reader, live.link_id) if live else None
        return ConversationFork(conversation, window, link, price)

    @property
    def _in_place(self) -> str | None:
        """The window that is to leave its source for the fork."""
        return None if self._wanted.side_by_side else self._wanted.window_id

    def _refuse_in_turn(self) -> None:
        """A turn goes on where it was begun, so its window stays with it."""
        if self._source and self._in_place and self._source.in_turn(self._in_place):
            raise StillAtWork

    async def _kept(self, leaf_id: str | None) -> ConversationRecord:
        """The conversation, with everything that it has of its source."""
        wanted, source = self._wanted, self._wanted.source
        agent = (wanted.agent.name, wanted.agent.profile) if wanted.agent else (source.agent, source.profile)
        async with self._services.db.write() as tx:
            record = await conversations.create(
                tx,
                id=self._services.new_id(),
                agent=agent[0],
                profile=agent[1],
                cwd=wanted.cwd or source.cwd,
                family=source.family,
                fork_point_id=leaf_id,
            )
            if record.cwd == source.cwd:
                await files_place.move(tx, FilesPlace(record.id, None, await self._files_of_source(tx)))
            for path in (*await conversations.further_directories(tx, source.id), *wanted.directories):
                await conversations.add_further_directory(tx, record.id, path)
            servers = await conversations.mcp_servers(tx, source.id)
            await conversations.add_mcp_servers(tx, record.id, (*servers, *wanted.mcp_servers))
        return record

    async def _files_of_source(self, reader: Reader) -> tuple[str, ...]:
        """Where the files stand that the fork finds in the directory."""
        wanted, source = self._wanted, self._wanted.source
        window = await windows.get(reader, wanted.window_id) if wanted.window_id else None
        if window and window.conversation_id == source.id:
            return await files_place.of_window(reader, window.id)
        return await files_place.of_conversation(reader, source.id, await places.of(reader, source.id))

    async def _show(self, record: ConversationRecord, window_id: str, point: _Point) -> None:
        """Let the window show the fork: the last step, and the only one that a person sees."""
        wanted = self._wanted
        async with self._services.db.write() as tx:
            # A prompt that was typed while this waited for the store has its turn here.
            self._refuse_in_turn()
            if self._in_place:
                await move_window(
                    tx,
                    window_id=window_id,
                    conversation_id=record.id,
                    leaf_id=point.leaf_id,
                    act=Act.FORK,
                )
            else:
                beside = await windows.get(tx, wanted.window_id) if wanted.window_id else None
                await windows.open(
                    tx,
                    id=window_id,
                    conversation_id=record.id,
                    leaf_id=point.leaf_id,
                    workspace_id=beside.workspace_id if beside else None,
                )
                if beside:
                    await windows.copy_choices(tx, beside.id, window_id)
                    await opened_window(tx, window_id=window_id)
            shown = await windows.get(tx, window_id)
            if point.prompt and shown and not shown.draft:
                await windows.set_draft(tx, window_id, draft_of(point.prompt))
                files = await attachments.of_message(tx, point.prompt.id)
                await attachments.set_draft(tx, window_id, files)

    async def _undone(self, conversation_id: str, live: LiveSession | None) -> None:
        if live:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await end_upstream(live.agent, live.session_id)
        await self._close(conversation_id)
        async with self._services.db.write() as tx:
            await conversations.delete_if_empty(tx, conversation_id)


async def _point(reader: Reader, wanted: ForkRequest) -> _Point:
    source, at = wanted.source, wanted.at
    if at is None:
        window = await windows.get(reader, wanted.window_id) if wanted.window_id else None
        if window and window.conversation_id == source.id:
            leaf_id = window.leaf_id
        else:
            leaf_id = await places.of(reader, source.id)
        return _Point(await settled_point(reader, leaf_id), None)
    message = await messages.get(reader, at)
    if message is None:
        raise NotFound("message", at)
    if not await is_part_of(reader, source, at):
        raise NotOfThisBranch
    if message.is_prompt:
        return _Point(message.parent_id, message)
    return _Point(await point_at(reader, at), None)
