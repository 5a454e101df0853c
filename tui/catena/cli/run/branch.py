"""The branch of a headless run's prompt: the end of its conversation, another branch, or a fork."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from catena.errors import CommandRefused
from catena_acp.conversation.branches.files import left_words
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations.conversations import Conversations
from catena_acp.conversation.inspection.price import Price
from catena_acp.errors import FilesNotKept
from catena_acp.port.port import AgentSpec
from catena_acp.snapshots.restoring import FileChoice, RestorePlan
from catena_store import places
from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.ids import new_id
from catena_store.records import ConversationRecord as Record
from catena_store.records import Kind, Message
from catena_store.windows import windows


@dataclass(frozen=True, slots=True)
class BranchRequest:
    """The branch that a prompt is to start or continue; messages by id or the beginning of one."""

    fork: bool = False
    at: str | None = None
    edit: str | None = None
    files: FileChoice | None = None  # they go along

    @property
    def requested(self) -> bool:
        return self.fork or self.at is not None or self.edit is not None


@dataclass(frozen=True, slots=True)
class NewBranch:
    """A branch that the prompt starts, and the price of its context."""

    act: str  # fork, at or edit
    source_id: str  # the original conversation
    leaf_id: str | None  # the parent of the prompt
    edited_id: str | None  # the prompt that it replaces
    price: Price
    files: RestorePlan | None = None  # what becomes of those that go along
    left: str = ""  # which of them did not, as a sentence


@dataclass(frozen=True, slots=True)
class PromptTarget:
    """Conversation and window of the prompt."""

    conversation: Conversation
    window_id: str
    branch: NewBranch | None = None


@asynccontextmanager
async def open_target(
    live: Conversations, db: Database, source: Conversation, request: BranchRequest, spec: AgentSpec
) -> AsyncIterator[PromptTarget]:
    """A window without workspace for the prompt, open until the end of the block.

    Raises CommandRefused, NotFound, Ambiguous, and the errors of a fork.
    """
    at = await _message(db, source.record, request.at)
    edited = await _message(db, source.record, request.edit)
    if request.fork:
        async with _fork(live, db, source, at, spec) as target:
            yield target
        return
    async with open_window(db, source.id) as window_id:
        if (spec.name, spec.profile) != (source.record.agent, source.record.profile):
            await source.window(window_id).set_agent(spec)
        plan = await _planned(source, window_id, request.files, at=at, edited=edited)
        moved = None
        if at is not None:
            moved = await source.window(window_id).go_to(at.id, choice=request.files)
        if at is None and edited is None:
            yield PromptTarget(source, window_id)
            return
        if edited is not None:
            leaf_id = edited.parent_id
        else:
            async with db.read() as reader:
                window = await windows.get(reader, window_id)
            leaf_id = window.leaf_id if window else None
        await source.branches.learn_fork_at(window_id, leaf_id)
        price = await source.chain.price(source.window(window_id), leaf_id=leaf_id)
        act = "at" if edited is None else "edit"
        branch = NewBranch(act, source.id, leaf_id, edited.id if edited else None, price, plan)
        if moved is not None and moved.left:
            branch = replace(branch, left=left_words(moved.left))
        yield PromptTarget(source, window_id, branch)


async def _planned(
    source: Conversation,
    window_id: str,
    choice: FileChoice | None,
    *,
    at: Message | None,
    edited: Message | None,
) -> RestorePlan | None:
    """What becomes of files on the way to the branch; None where they stay. Raises FilesNotKept, StoreError."""
    if choice is None or (at is None and edited is None):
        return None
    if edited is not None:
        point = edited.parent_id
    else:
        point = await source.window(window_id).leaf.fork_point(at.id if at else None)
    try:
        return await source.files.plan(window_id, point, needed=not choice.where_kept)
    except FilesNotKept:
        if choice.where_kept:
            return None
        raise


@asynccontextmanager
async def _fork(
    live: Conversations, db: Database, source: Conversation, at: Message | None, spec: AgentSpec
) -> AsyncIterator[PromptTarget]:
    if not source.read_only:
        async with open_window(db, source.id) as window_id:
            point = await source.window(window_id).leaf.fork_point(at.id if at else None)
            await source.branches.learn_fork_at(window_id, point, spec)
    forked = await live.fork(source, window_id=None, at=at.id if at else None, agent=spec)
    made = forked.conversation
    branch = NewBranch("fork", source.id, made.record.fork_point_id, None, forked.price)
    try:
        yield PromptTarget(made, forked.window.id, branch)
    finally:
        await live.close(made.id)
        async with db.write() as tx:
            await windows.close(tx, forked.window.id)
            await conversations.delete_if_empty(tx, made.id)


@asynccontextmanager
async def open_window(db: Database, conversation_id: str, *, beside: str | None = None) -> AsyncIterator[str]:
    """A window at the conversation's place, or where the one ``beside`` it stands, open in the block."""
    window_id = new_id()
    async with db.write() as tx:
        other = await windows.get(tx, beside) if beside else None
        leaf = other.leaf_id if other else await places.of(tx, conversation_id)
        await windows.open(tx, id=window_id, conversation_id=conversation_id, leaf_id=leaf)
    try:
        yield window_id
    finally:
        async with db.write() as tx:
            await windows.close(tx, window_id)


async def _message(db: Database, record: Record, named: str | None) -> Message | None:
    if named is None:
        return None
    async with db.read() as reader:
        return await messages.find(reader, record.id, named)


async def check_messages(db: Database, record: Record, request: BranchRequest) -> None:
    """Check before any agent is started that the requested messages exist and are of the right kind.

    Raises CommandRefused, NotFound, Ambiguous.
    """
    at = await _message(db, record, request.at)
    edited = await _message(db, record, request.edit)
    if at is not None and at.kind is Kind.USER:
        raise CommandRefused(f"{at.id} is a prompt: use --edit to replace it; --at takes an answer")
    if edited is not None and edited.kind is not Kind.USER:
        raise CommandRefused(
            f"{edited.id} is not a prompt: use --at to continue after it; --edit takes a prompt"
        )
    if edited is not None and edited.steered:
        raise CommandRefused(
            f"{edited.id} was sent into a running turn; --edit takes the prompt that started the turn"
        )
