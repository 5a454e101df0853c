"""The branches of the open tabs as the store has them: pages of their rows, and what is asked about single messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from catena.transcript.model.reading_position import ReadingPosition
from catena.workspace.tab import Tab
from catena_store import ancestry, places
from catena_store.chains import turns
from catena_store.conversations import branches, messages
from catena_store.database.database import Database, Reader
from catena_store.records import Attachment, Kind, Message
from catena_store.windows import attachments, windows

if TYPE_CHECKING:
    from catena.transcript.messages.prompt import Siblings


T = TypeVar("T")

PAGE = 60
_MOST_ROWS = 2_000  # read at once to come back to a place far up
_PAGES_OF_ANSWERS = 200  # rows above a leaf, among which an answer is looked for


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Rows of a branch, oldest first."""

    rows: list[Message]
    more_above: bool
    siblings: Mapping[str, Siblings]  # of the prompts that have any


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """One version of a prompt: its text, the end of its newest branch, and its agent where the others have others."""

    text: str
    leaf_id: str
    agent: str
    here: bool


class TabBranches:
    """Reads the branches of tabs, each in one snapshot of the store."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def newest_page(self, tab: Tab) -> HistoryPage:
        """The end of a tab's branch, with enough above it to come back to its place."""
        async with self._db.read() as reader:
            window = await windows.get(reader, tab.window_id)
            leaf_id = window.leaf_id if window else tab.leaf_id
            depth = await messages.depth(reader, leaf_id) if leaf_id else 0
        above = 0 if tab.scroll is None else max(0, depth - ReadingPosition.unpack(tab.scroll).depth)
        return await self._page(tab, leaf_id, min(_MOST_ROWS, PAGE + above))

    async def page_above(self, tab: Tab, oldest: Message) -> HistoryPage:
        """The rows before the oldest one that is shown."""
        return await self._page(tab, oldest.parent_id, PAGE * 2)

    async def _page(self, tab: Tab, leaf_id: str | None, limit: int) -> HistoryPage:
        async with self._db.read() as reader:
            rows = await messages.page(reader, leaf_id, limit)
            prompts = [row.id for row in rows if row.kind is Kind.USER]
            siblings = await _siblings(reader, tab, prompts)
        return HistoryPage(
            tab.with_published_text(rows), bool(rows) and rows[0].parent_id is not None, siblings
        )

    async def of_branch(self, tab: Tab, read: Callable[[Reader, str | None], Awaitable[T]]) -> T:
        """Read from the branch of a tab, in one snapshot."""
        async with self._db.read() as reader:
            window = await windows.get(reader, tab.window_id)
            return await read(reader, window.leaf_id if window else tab.leaf_id)

    async def of_branch_at_length(self, tab: Tab, read: Callable[[Reader, str | None], Awaitable[T]]) -> T:
        """Read from the branch of a tab, in a snapshot that neither waits for other transactions nor delays them."""
        async with self._db.read_concurrently() as reader:
            window = await windows.get(reader, tab.window_id)
            return await read(reader, window.leaf_id if window else tab.leaf_id)

    async def siblings(self, tab: Tab, prompt_id: str) -> Mapping[str, Siblings]:
        """The place of a prompt among its siblings, if it has any."""
        async with self._db.read() as reader:
            return await _siblings(reader, tab, [prompt_id])

    async def branches_above(self, tab: Tab, oldest: Message) -> bool:
        """True if a prompt above the oldest row that is shown has siblings."""
        async with self._db.read() as reader:
            return await branches.fork_above(reader, oldest.parent_id, tab.conversation.id)

    async def versions(self, tab: Tab) -> list[PromptVersion]:
        """The versions of the last prompt of a tab's branch that has several, oldest first; none where none has."""
        conversation = tab.conversation
        async with self._db.read() as reader:
            window = await windows.get(reader, tab.window_id)
            leaf_id = window.leaf_id if window else tab.leaf_id
            parted = await ancestry.partings(reader, leaf_id, conversation.id)
            places = await branches.sibling_positions(reader, parted, conversation.id)
            prompts = [row for id in places if (row := await messages.get(reader, id))]
            if leaf_id is None or not prompts:
                return []
            last = max(prompts, key=lambda row: row.depth)
            ids = await branches.siblings(reader, last.id, conversation.id)
            agents = await branches.agents_told_apart(reader, ids, conversation.id)
            found = []
            for id in ids:
                row, here = await messages.get(reader, id), id == last.id
                leaf = leaf_id if here else await ancestry.newest_below(reader, id, conversation.id)
                if row is not None and leaf is not None:
                    agent = conversation.tree.title_of(*agents[id]) if id in agents else ""
                    found.append(PromptVersion(row.text, leaf, agent, here))
        return found

    async def attachments_of(self, message_id: str) -> list[Attachment]:
        """The attachments of a prompt."""
        async with self._db.read() as reader:
            return await attachments.of_message(reader, message_id)

    async def on_branch(self, tab: Tab, message_id: str) -> bool:
        """True if a message is on the branch of a tab."""
        return await self.of_branch(tab, lambda reader, leaf: ancestry.contains(reader, leaf, message_id))

    async def prompt_of(self, message_id: str) -> Message | None:
        """The prompt that a message is or belongs to."""
        async with self._db.read() as reader:
            return next(
                (row for row in await messages.last_turn(reader, message_id) if row.kind is Kind.USER), None
            )

    async def depth_of(self, message_id: str) -> int | None:
        """How many rows stand above a message; None for one that is gone."""
        async with self._db.read() as reader:
            message = await messages.get(reader, message_id)
        return message.depth if message else None

    async def position_of(self, message_id: str) -> int | None:
        """The reading position of a message, for a tab that is not on the screen."""
        depth = await self.depth_of(message_id)
        return None if depth is None else ReadingPosition(depth, 0, 0).pack()

    async def place_of(self, tab: Tab) -> str | None:
        """Where the conversation of a tab goes on."""
        async with self._db.read() as reader:
            return await places.of(reader, tab.conversation.id)

    async def message(self, message_id: str | None, *, of: str) -> Message | None:
        """A message, or without its id the last answer of a conversation."""
        async with self._db.read() as reader:
            if message_id is not None:
                return await messages.get(reader, message_id)
            leaf = await places.of(reader, of)
            answers = await branches.newest_answers(reader, leaf, limit=1, within=_PAGES_OF_ANSWERS)
        return answers[-1] if answers else None

    async def prior_context(self, turn_id: str) -> str | None:
        """The exact prior context that was sent before a prompt."""
        async with self._db.read() as reader:
            turn = await turns.get(reader, turn_id)
        return turn.prior_context if turn else None


async def _siblings(reader: Reader, tab: Tab, prompt_ids: Sequence[str]) -> Mapping[str, Siblings]:
    from catena.transcript.messages.prompt import Siblings

    conversation = tab.conversation
    positions = await branches.sibling_positions(reader, prompt_ids, conversation.id)
    agents = await branches.agents_told_apart(reader, list(positions), conversation.id) if positions else {}
    titles = {id: conversation.tree.title_of(*agent) for id, agent in agents.items()}
    return {id: Siblings(*place, titles.get(id, "")) for id, place in positions.items()}
