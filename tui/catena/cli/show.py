"""``catena list`` and ``catena show``: what is read from the store and printed, with nothing of the screen loaded."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from catena.cli import summaries as listing
from catena.errors import ExitStatus
from catena.text.json_shapes import FORMAT, dumps, record_shape, surroundings_shape, turn_shape
from catena.text.safe_text import safe, safe_line
from catena.text.usage import Spending, spending, spending_shape
from catena_acp.continuity.tool_record import ToolRecord
from catena_store.chains import environments, links, turns
from catena_store.conversations import conversations, directories, messages
from catena_store.database.database import Database, default_path
from catena_store.errors import StoreError
from catena_store.ids import utc_now
from catena_store.records import (
    Cause,
    ConversationRecord,
    Kind,
    Link,
    LinkState,
    Message,
    MessageState,
    Summary,
    Turn,
    TurnEnvironment,
    WindowRecord,
)
from catena_store.windows import windows

T = TypeVar("T")

_PAGE = 500
_TITLE = 80  # characters of a first prompt that stand for a title
_TOOL_MARKS = {"completed": "✓", "failed": "✗", "in_progress": "●", "pending": "●"}
_STATE_WORDS = {
    MessageState.INTERRUPTED: "interrupted",
    MessageState.REFUSED: "no agent accepted it",
}


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """Everything that was born in one conversation."""

    conversation: ConversationRecord
    messages: Sequence[Message]
    turns: Sequence[Turn]
    links: Sequence[Link]
    windows: Sequence[WindowRecord]
    open_windows: frozenset[str]
    directories: Sequence[str]  # beside the one that it works in
    environments: Mapping[str, TurnEnvironment]  # by turn
    spending: Spending


@dataclass(frozen=True, slots=True)
class ShownBranch:
    """One branch of a conversation, oldest row first; the rows above a fork point are the source's."""

    conversation: ConversationRecord
    rows: Sequence[Message]


async def whole(db: Database, conversation_id: str) -> ShownConversation:
    """Everything of a conversation, in one snapshot. Raises NotFound or Ambiguous."""
    async with db.read() as reader:
        found = await conversations.find(reader, conversation_id)
        return ShownConversation(
            conversation=found,
            messages=await messages.of_conversation(reader, found.id),
            turns=await turns.of_conversation(reader, found.id),
            links=await links.of_conversation(reader, found.id),
            windows=await windows.of_conversation(reader, found.id),
            open_windows=frozenset(each.id for each in await windows.open_in(reader, found.id)),
            directories=await _unless_lost(directories.of_conversation(reader, found.id), ()),
            environments=await _unless_lost(environments.of_conversation(reader, found.id), {}),
            spending=await spending(reader, found.id, await windows.newest_leaf(reader, found.id)),
        )


async def _unless_lost(reading: Awaitable[T], otherwise: T) -> T:
    """What is read, or something else where that part of the file is lost: the rest can be shown all the same."""
    try:
        return await reading
    except StoreError:
        return otherwise


async def newest_branch(db: Database, conversation_id: str) -> ShownBranch:
    """A conversation's newest branch. Raises NotFound or Ambiguous."""
    async with db.read() as reader:
        found = await conversations.find(reader, conversation_id)
        leaf = await windows.newest_leaf(reader, found.id)
        if leaf is None:
            # Nothing to go on from, and yet something was typed.
            leaf = next((row.id for row in reversed(await messages.of_conversation(reader, found.id))), None)
        rows: list[Message] = []
        while leaf is not None:
            page = await messages.page(reader, leaf, _PAGE)
            rows[:0] = page
            leaf = page[0].parent_id if page else None
        return ShownBranch(found, rows)


def as_json(everything: ShownConversation) -> str:
    """One JSON object: the conversation, its messages, turns, chain, other links and windows."""
    carried = {turn.link_id for turn in everything.turns}
    carriers = [link for link in everything.links if _carries(link, carried)]
    others = [link for link in everything.links if not _carries(link, carried)]
    return dumps(
        {
            "format": FORMAT,
            "conversation": record_shape(everything.conversation),
            "messages": [record_shape(message) for message in everything.messages],
            "turns": [
                turn_shape(turn) | {"surroundings": surroundings_shape(everything.environments.get(turn.id))}
                for turn in everything.turns
            ],
            "links": [record_shape(link) for link in carriers],
            "parked": [record_shape(link) | {"role": _role(link)} for link in others],
            "windows": [
                record_shape(window) | {"open": window.id in everything.open_windows}
                for window in everything.windows
            ],
            "directories": list(everything.directories),
            "usage": {
                "conversation": spending_shape(everything.spending.conversation),
                "branch": spending_shape(everything.spending.branch),
                "asides": spending_shape(everything.spending.asides),
            },
        },
        indent=2,
    )


def as_text(branch: ShownBranch) -> Iterator[str]:
    """The branch as a person reads it: prompts, answers, tool lines, notices and seams, each a block of lines."""
    conversation = branch.conversation
    first_words = next((row.text for row in branch.rows if row.kind is Kind.USER), "")
    yield safe_line(conversation.title or first_words[:_TITLE])
    yield f"{safe_line(conversation.agent)} · {safe_line(conversation.cwd)} · {conversation.id}"
    before: Kind | None = None
    for message in _seams_first(branch.rows):
        block = _block(message)
        if block is None:
            continue
        if not (before is Kind.TOOL and message.kind is Kind.TOOL):
            yield ""
        yield block
        before = message.kind


def _carries(link: Link, carried: set[str]) -> bool:
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
        case Cause.NEW | Cause.FORK | Cause.FORK_AT | Cause.IMPORT:
            return "parked" if link.state is LinkState.PARKED else "unused"


def _seams_first(branch: Sequence[Message]) -> list[Message]:
    """The branch with each seam above the prompt that it hangs from, since it tells how that prompt travelled."""
    rows: list[Message] = []
    for message in branch:
        under_its_prompt = rows and rows[-1].kind is Kind.USER and rows[-1].id == message.parent_id
        if message.kind is Kind.SEAM and under_its_prompt and not message.barrier:
            rows.insert(len(rows) - 1, message)
        else:
            rows.append(message)
    return rows


def _attached(message: Message) -> list[str]:
    files = message.data.get("attachments") or ()
    return [str(each.get("name")) for each in files if isinstance(each, dict)]


def _block(message: Message) -> str | None:
    match message.kind:
        case Kind.USER:
            lines = safe(message.text).split("\n")
            lines += [f"+ {safe_line(name)}" for name in _attached(message)]
            return _with_state(message, "\n".join(f"▌ {line}".rstrip() for line in lines))
        case Kind.AGENT:
            return _with_state(message, safe(message.text).strip("\n"))
        case Kind.TOOL:
            return _tool_line(message.data)
        case Kind.NOTICE if message.data.get("compacted"):
            return f"╌╌ {safe_line(message.text)} ╌╌"
        case Kind.NOTICE:
            return f"! {safe(message.text)}"
        case Kind.SEAM:
            return f"╌╌ {safe_line(message.text)} ╌╌"
        case Kind.THOUGHT | Kind.PLAN:
            return None


def _with_state(message: Message, text: str) -> str:
    words = _STATE_WORDS.get(message.state)
    return f"{text}\n({words})" if words else text


def _tool_line(data: Mapping[str, Any]) -> str:
    call = ToolRecord.from_data(data)
    return f"{_TOOL_MARKS.get(call.status, '·')} {safe_line(call.title or call.name or 'tool call')}"


def print_list(*, cwd: str | None, limit: int | None, json: bool) -> int:
    """Print the newest conversations; ``limit`` None for all."""

    async def read() -> list[Summary]:
        async with Database.open(default_path()) as db:
            return await listing.newest(db, cwd=cwd, limit=limit)

    summaries = asyncio.run(read())
    if json:
        print(listing.as_json(summaries))
        return ExitStatus.ANSWERED
    for line in listing.as_lines(summaries, now=utc_now(), width=_width()):
        print(line)
    return ExitStatus.ANSWERED


def print_conversation(conversation_id: str, *, json: bool) -> int:
    """Print one conversation. Raises NotFound or Ambiguous."""

    async def read_whole() -> ShownConversation:
        async with Database.open(default_path()) as db:
            return await whole(db, conversation_id)

    async def read_branch() -> ShownBranch:
        async with Database.open(default_path()) as db:
            return await newest_branch(db, conversation_id)

    if json:
        print(as_json(asyncio.run(read_whole())))
        return ExitStatus.ANSWERED
    for block in as_text(asyncio.run(read_branch())):
        print(block)
    return ExitStatus.ANSWERED


def print_chain(conversation_id: str) -> int:
    """Print a conversation's chain, as seen from its newest branch. Raises NotFound or Ambiguous."""
    from catena.text.wording import agent_title, chain_as_text
    from catena_acp.continuity.services import AgentTitles
    from catena_acp.conversation.inspection.chain import Chain, read_chain
    from catena_store.conversations import conversations
    from catena_store.windows import windows

    titles = AgentTitles()

    async def read() -> Chain:
        async with Database.open(default_path()) as db:
            await titles.load(db)
            async with db.read() as reader:
                found = await conversations.find(reader, conversation_id)
                leaf = await windows.newest_leaf(reader, found.id)
                return await read_chain(reader, found.id, leaf, title_of=title_of, cap=None)

    def title_of(name: str, profile: str) -> str:
        return agent_title(name, profile, titles.of)

    for line in chain_as_text(asyncio.run(read())):
        print(line)
    return ExitStatus.ANSWERED


def print_tree(conversation_id: str, *, json: bool) -> int:
    """Print every branch of a conversation. Raises NotFound or Ambiguous."""
    from catena.cli.tree import Tree, read_tree, tree_as_json, tree_as_text

    async def read() -> Tree:
        async with Database.open(default_path()) as db:
            return await read_tree(db, conversation_id)

    shown = asyncio.run(read())
    for line in [tree_as_json(shown)] if json else tree_as_text(shown):
        print(line)
    return ExitStatus.ANSWERED


def _width() -> int | None:
    """The cells of a line where a person looks on; None where the output goes elsewhere and is kept whole."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
