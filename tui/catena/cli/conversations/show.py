"""``catena show``: a conversation, its chain or its tree, read from the store without loading the screen.

A conversation is written while it is read, a page of messages at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from catena.cli.outcome import outcome
from catena.errors import ExitStatus
from catena.rendering.lines import branch_lines
from catena.settings.agents import titles_in_settings
from catena.text.json_shapes import FORMAT, dumps, record_shape, surroundings_shape, turn_shape
from catena.text.names import conversation_name
from catena.text.usage import Spending, spending, spending_shape
from catena_store import places
from catena_store.chains import environments, links, turns
from catena_store.conversations import conversations, directories, messages
from catena_store.database.database import Database, Reader, default_path
from catena_store.errors import StoreError
from catena_store.records import (
    Cause,
    ConversationRecord,
    Kind,
    Link,
    LinkState,
    Message,
    Turn,
    TurnEnvironment,
    WindowRecord,
)
from catena_store.windows import windows

T = TypeVar("T")

_PAGE = 500  # messages that are read at a time


@dataclass(frozen=True, slots=True)
class ConversationContents:
    """Everything that belongs to one conversation but its messages."""

    conversation: ConversationRecord
    turns: Sequence[Turn]
    links: Sequence[Link]
    windows: Sequence[WindowRecord]
    open_windows: frozenset[str]
    directories: Sequence[str]  # further directories
    environments: Mapping[str, TurnEnvironment]  # by turn
    spending: Spending


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One transaction to read in, step by step; no loop runs between two steps."""

    reader: Reader
    runner: asyncio.Runner

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        """The result of one step."""
        return outcome(step, self.runner.run)


@dataclass(frozen=True, slots=True)
class Reading:
    """The store, read step by step, each step in one snapshot.

    Nothing is held between two steps: a pager may wait for its reader as long as it likes.
    """

    db: Database
    runner: asyncio.Runner

    def read(self, query: Callable[[Reader], Coroutine[Any, Any, T]]) -> T:
        """The result of one step."""

        async def step() -> T:
            async with self.db.read() as reader:
                return await query(reader)

        return outcome(step(), self.runner.run)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """One snapshot for the length of the block, read step by step: for what has to agree in all its parts."""
        stack = AsyncExitStack()
        try:
            yield Snapshot(self.runner.run(stack.enter_async_context(self.db.read())), self.runner)
        finally:
            self.runner.run(stack.aclose())

    def conversation(self, conversation_id: str, newest: str | None) -> Iterator[Message]:
        """Yield every message born in a conversation until the newest, in order of birth; a page is in memory."""
        after: str | None = None
        while after != newest:
            page = self.read(partial(_born_after, conversation_id, after))
            if not page:
                return
            for message in page:
                yield message
                after = message.id
                if after == newest:
                    return

    def branch(self, leaf: str | None) -> Iterator[Message]:
        """Yield a branch, oldest first, what is above a fork point included; a page of it is in memory."""
        top = 0
        while leaf and (page := self.read(partial(_page_from, leaf, top))):
            yield from page
            top += len(page)


async def _born_after(conversation_id: str, after: str | None, reader: Reader) -> list[Message]:
    return await messages.born_after(reader, conversation_id, after, _PAGE)


async def _page_from(leaf: str, top: int, reader: Reader) -> list[Message]:
    return await messages.page_from(reader, leaf, top, _PAGE)


@contextmanager
def open_reading() -> Iterator[Reading]:
    """Open the store for the length of the block.

    No loop runs between two steps, so that Ctrl+C ends a write to a pager that does not read on.
    """
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            yield Reading(runner.run(stack.enter_async_context(Database.open(default_path()))), runner)
        finally:
            runner.run(stack.aclose())


async def read_contents(reader: Reader, found: ConversationRecord) -> ConversationContents:
    """Read everything of a conversation but its messages."""
    return ConversationContents(
        conversation=found,
        turns=await turns.of_conversation(reader, found.id),
        links=await links.of_conversation(reader, found.id),
        windows=await windows.of_conversation(reader, found.id),
        open_windows=frozenset(each.id for each in await windows.open_in(reader, found.id)),
        directories=await _or_default(directories.of_conversation(reader, found.id), ()),
        environments=await _or_default(environments.of_conversation(reader, found.id), {}),
        spending=await spending(reader, found.id, await places.of(reader, found.id)),
    )


async def _or_default(reading: Awaitable[T], otherwise: T) -> T:
    """The result of a read, or a default where that table is damaged, so that the rest can be shown."""
    try:
        return await reading
    except StoreError:
        return otherwise


async def _contents_of(reader: Reader, named: str) -> tuple[ConversationContents, str | None]:
    """A conversation without its messages, and the newest of them. Raises NotFound or Ambiguous."""
    found = await conversations.find(reader, named)
    return await read_contents(reader, found), await messages.newest(reader, found.id)


async def _branch_of(reader: Reader, named: str) -> tuple[ConversationRecord, str | None]:
    """A conversation, and the leaf of its newest branch. Raises NotFound or Ambiguous."""
    found = await conversations.find(reader, named)
    return found, await places.to_show(reader, found.id)


async def _turn_of(reader: Reader, named: str, message: str) -> tuple[ConversationRecord, Sequence[Message]]:
    """A conversation, and the rows of the turn of one of its messages. Raises NotFound or Ambiguous."""
    found = await conversations.find(reader, named)
    row = await messages.find(reader, found.id, message)
    turn = await turns.get(reader, row.turn_id) if row.turn_id else None
    return found, await messages.last_turn(reader, turn.last_id if turn else row.id)


def conversation_json(everything: ConversationContents, born: Iterable[Message]) -> Iterator[str]:
    """Yield one JSON object in pieces: the conversation, its messages, turns, chain, other links and windows."""
    carried = {turn.link_id for turn in everything.turns}
    carriers = [link for link in everything.links if _is_carrier(link, carried)]
    others = [link for link in everything.links if not _is_carrier(link, carried)]
    yield "{\n" + _member("format", FORMAT)
    yield ",\n" + _member("conversation", record_shape(everything.conversation))
    yield ',\n  "messages": ['
    end = "]"
    for number, message in enumerate(born):
        yield f"{',' if number else ''}\n    {_indented(record_shape(message, without=frozenset({'took'})), 4)}"
        end = "\n  ]"
    yield end
    rest: dict[str, object] = {
        "turns": [
            turn_shape(turn) | {"surroundings": surroundings_shape(everything.environments.get(turn.id))}
            for turn in everything.turns
        ],
        "links": [record_shape(link) for link in carriers],
        "parked": [record_shape(link) | {"role": _role(link)} for link in others],
        "windows": [
            record_shape(window, without=frozenset({"pieces"}))
            | {"open": window.id in everything.open_windows}
            for window in everything.windows
        ],
        "directories": list(everything.directories),
        "usage": {
            "conversation": spending_shape(everything.spending.conversation),
            "branch": spending_shape(everything.spending.branch),
            "asides": spending_shape(everything.spending.asides),
        },
    }
    for key, value in rest.items():
        yield ",\n" + _member(key, value)
    yield "\n}\n"


def _member(key: str, value: object) -> str:
    return f'  "{key}": {_indented(value, 2)}'


def _indented(value: object, columns: int) -> str:
    """A value within another: a string in JSON has no line break of its own."""
    return dumps(value, indent=2).replace("\n", "\n" + " " * columns)


def _is_carrier(link: Link, carried: set[str]) -> bool:
    set_apart = link.cause in (Cause.PARK, Cause.ASIDE, Cause.PROBE)
    return link.id in carried or (link.state is LinkState.OPEN and not set_apart)


def _role(link: Link) -> str:
    match link.cause:
        case Cause.PARK:
            return "parked"
        case Cause.ASIDE:
            return "aside"
        case Cause.PROBE:
            return "probe"
        case Cause.NEW | Cause.FORK | Cause.FORK_AT | Cause.IMPORT | Cause.COPY:
            return "parked" if link.state is LinkState.PARKED else "unused"


def _agent_of(conversation: ConversationRecord) -> str:
    return titles_in_settings()(conversation.agent, conversation.profile) or conversation.agent


def print_conversation(conversation_id: str, *, json: bool) -> int:
    """Print a conversation's newest branch, or all of it as JSON. Raises NotFound or Ambiguous."""

    with open_reading() as reading:
        if json:
            everything, newest = reading.read(lambda reader: _contents_of(reader, conversation_id))
            born = reading.conversation(everything.conversation.id, newest)
            for piece in conversation_json(everything, born):
                print(piece, end="")
            return ExitStatus.ANSWERED
        found, leaf = reading.read(lambda reader: _branch_of(reader, conversation_id))
        title = _name(found, reading.branch(leaf))
        for block in branch_lines(found, _agent_of(found), title, reading.branch(leaf)):
            print(block)
    return ExitStatus.ANSWERED


def print_turn(conversation_id: str, message: str) -> int:
    """Print the turn of a message, whatever branch it is on, its changes whole. Raises NotFound or Ambiguous."""
    with open_reading() as reading:
        found, rows = reading.read(lambda reader: _turn_of(reader, conversation_id, message))
    title = _name(found, rows)
    for block in branch_lines(found, _agent_of(found), title, rows, whole=True):
        print(block)
    return ExitStatus.ANSWERED


def _name(found: ConversationRecord, rows: Iterable[Message]) -> str:
    return conversation_name(found.title, next((row.text for row in rows if row.kind is Kind.USER), ""))


def print_chain(conversation_id: str) -> int:
    """Print a conversation's chain, for its newest branch. Raises NotFound or Ambiguous."""
    from catena.text.chain_text import agent_title, chain_lines
    from catena_acp.continuity.services import AgentTitles
    from catena_acp.conversation.inspection.chain import Chain, read_chain
    from catena_store.conversations import conversations

    titles = AgentTitles()

    async def read() -> Chain:
        async with Database.open(default_path()) as db:
            await titles.load(db)
            async with db.read() as reader:
                found = await conversations.find(reader, conversation_id)
                leaf = await places.of(reader, found.id)
                return await read_chain(reader, found.id, leaf, title_of=title_of, cap=None)

    own_title = titles_in_settings()

    def title_of(name: str, profile: str) -> str:
        return own_title(name, profile) or agent_title(name, profile, titles.of)

    for line in chain_lines(outcome(read())):
        print(line)
    return ExitStatus.ANSWERED


def print_tree(conversation_id: str, *, json: bool) -> int:
    """Print the tree of a conversation. Raises NotFound or Ambiguous."""
    from catena.cli.conversations.tree import TreeContents, read_tree, tree_json, tree_lines

    async def read() -> TreeContents:
        async with Database.open(default_path()) as db:
            return await read_tree(db, conversation_id)

    shown = outcome(read())
    for line in [tree_json(shown)] if json else tree_lines(shown):
        print(line)
    return ExitStatus.ANSWERED
