"""``catena show``: a conversation, its chain or its tree, read from the store without loading the screen.

A conversation is written while it is read, a page of messages at a time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from catena.cli.outcome import outcome
from catena.errors import ExitStatus
from catena.rendering.lines import branch_lines
from catena.settings.agents import titles_in_settings
from catena.text.json_shapes import FORMAT, dumps, record_shape, surroundings_shape, time_shape, turn_shape
from catena.text.names import conversation_name
from catena.text.safe_text import safe_line
from catena.text.usage import Spending, spending, spending_shape
from catena_store import places
from catena_store.chains import environments, links, turns
from catena_store.conversations import conversations, messages, tree
from catena_store.conversations.branches import Sibling, numbered
from catena_store.conversations.tree import TreeNode
from catena_store.database.database import Database, Reader, default_path
from catena_store.errors import StoreError
from catena_store.records import (
    Cause,
    ConversationRecord,
    Kind,
    Link,
    LinkState,
    Message,
    MessageState,
    StopReason,
    Turn,
    TurnEnvironment,
    WindowRecord,
)
from catena_store.windows import windows

_STOPS = {
    StopReason.CANCELLED: "stopped",
    StopReason.ERROR: "failed",
    StopReason.AGENT_GONE: "agent crashed",
    StopReason.INTERRUPTED: "interrupted",
    StopReason.REFUSAL: "refused by the agent",
    StopReason.MAX_TOKENS: "cut",
    StopReason.MAX_TURN_REQUESTS: "cut",
}


@dataclass(frozen=True, slots=True)
class TreeContents:
    """The prompts of a conversation and its forks, parents before children."""

    conversation: ConversationRecord
    leaf_id: str | None  # the newest leaf,
    here: str | None  # … and its prompt
    nodes: Sequence[TreeNode]
    forks: Set[str] = frozenset()  # conversations of which nodes are the first ones alone


async def read_tree(db: Database, named: str) -> TreeContents:
    """Read the tree of a conversation, with its source's part and the beginnings of its forks.

    Raises NotFound or Ambiguous.
    """
    async with db.read() as reader:
        found = await conversations.find(reader, named)
        kin = await tree.lineage(reader, found.id)
        forks = {fork.id for fork in kin.forks}
        nodes = await tree.nodes_of_conversation(reader, found.id, forks)
        leaf = await places.of(reader, found.id)
        return TreeContents(found, leaf, await tree.prompt_at(reader, leaf), nodes, forks)


def tree_json(shown: TreeContents) -> str:
    """One JSON object with the conversation and the nodes of its tree."""
    return dumps(
        {
            "format": FORMAT,
            "conversation": record_shape(shown.conversation),
            "leaf_id": shown.leaf_id,
            "here": shown.here,
            "nodes": [_shape(node, shown.conversation.id) for node in shown.nodes],
        },
        indent=2,
    )


def _shape(node: TreeNode, conversation_id: str) -> dict[str, object]:
    return {
        "id": node.id,
        "parent_id": node.parent_id,
        "hangs_from": node.hangs_from,
        "conversation_id": node.conversation_id,
        "own": node.conversation_id == conversation_id,
        "preview": node.preview,
        "state": node.state,
        "agent": node.agent,
        "profile": node.profile,
        "how": node.how,
        "stop_reason": node.stop_reason,
        "rows": node.rows,
        "leaf_id": node.leaf_id,
        "created_at": time_shape(node.created_at),
    }


def tree_lines(shown: TreeContents) -> Iterator[str]:
    """Yield a line for each prompt, branch after branch; each names the branches that part below it."""
    conversation, title_of = shown.conversation, titles_in_settings()
    first_words = shown.nodes[0].preview if shown.nodes else ""
    yield safe_line(conversation_name(conversation.title, first_words))
    agent = title_of(conversation.agent, conversation.profile) or conversation.agent
    yield f"{safe_line(agent)} · {safe_line(conversation.cwd)} · {conversation.id}"
    yield ""
    yield from _TreeDrawing(shown, title_of).lines()
    if not shown.nodes:
        yield "no prompts yet"


class _TreeDrawing:
    """Drawing of a tree, without indents: a conversation can be thousands of prompts deep, and part at each."""

    def __init__(self, shown: TreeContents, title_of: Callable[[str, str | None], str | None]) -> None:
        self._shown = shown
        self._title_of = title_of
        self._of_id = {node.id: node for node in shown.nodes}
        self._children: dict[str | None, list[TreeNode]] = {}
        for node in shown.nodes:
            self._children.setdefault(node.parent_id, []).append(node)
        self._versions = dict(self._numbered())

    def _numbered(self) -> Iterator[tuple[str, str]]:
        """The prompts of the conversation, inherited ones too, that have other versions in it, with their numbers."""
        beside: dict[str | None, list[Sibling]] = {}
        for node in self._shown.nodes:
            if node.conversation_id not in self._shown.forks:
                sibling = Sibling(node.id, own=True, refused=node.state is MessageState.REFUSED)
                beside.setdefault(node.hangs_from, []).append(sibling)
        for siblings in beside.values():
            yield from ((id, f"‹{at}/{of}›") for id, (at, of) in numbered(siblings).items())

    def lines(self) -> Iterator[str]:
        waiting = deque(self._children.get(None, []))
        named = 0
        while waiting:
            node, named = waiting.popleft(), named + 1
            if named > 1:
                yield ""
                yield f"branch {named} · from {node.parent_id}" if node.parent_id else f"branch {named}"
            yield from self._branch(node, waiting, named + len(waiting))

    def _branch(self, node: TreeNode | None, waiting: deque[TreeNode], named: int) -> Iterator[str]:
        """The lines of a branch; what parts from it waits, and is named after the ``named`` before it."""
        while node is not None:
            below = self._children.get(node.id, [])
            others = below[1:]
            waiting.extend(others)
            begun, named = named + 1, named + len(others)
            parting = f"branch {begun}" if begun == named else f"branches {begun}–{named}"
            yield self._line(node, parting if others else None)
            node = below[0] if below else None

    def _line(self, node: TreeNode, parting: str | None) -> str:
        words = [safe_line(node.preview) or "(files only)", *self._badges(node)]
        if parting is not None:
            words.append(f"then also {parting}")
        return " · ".join((*words, node.id))

    def _badges(self, node: TreeNode) -> Iterator[str]:
        above = self._of_id.get(node.parent_id or "")
        here = self._shown.conversation.id
        if (version := self._versions.get(node.id)) is not None:
            yield version
        if node.conversation_id != here and (above is None or above.conversation_id != node.conversation_id):
            yield f"fork {node.conversation_id}" if above else f"of {node.conversation_id}"
        if node.agent and (above is None or above.agent != node.agent):
            yield safe_line(self._title_of(node.agent, node.profile) or node.agent)
        if node.state is MessageState.REFUSED:
            yield "not sent"
        elif node.stop_reason in _STOPS:
            yield _STOPS[node.stop_reason]
        if node.id == self._shown.here:
            yield "◂ here"


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
        directories=await _or_default(conversations.further_directories(reader, found.id), ()),
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

    async def read() -> TreeContents:
        async with Database.open(default_path()) as db:
            return await read_tree(db, conversation_id)

    shown = outcome(read())
    for line in [tree_json(shown)] if json else tree_lines(shown):
        print(line)
    return ExitStatus.ANSWERED
