"""The branches of the open tabs as the store has them: pages of their rows, searches, and single messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from catena.transcript.model.heights import ReadingPosition
from catena.workspace.tab import Tab
from catena_store import ancestry, places
from catena_store.chains import turns
from catena_store.conversations import branches, messages
from catena_store.database.database import Database, Reader
from catena_store.errors import NotFound
from catena_store.finding import search
from catena_store.records import Attachment, Kind, Message
from catena_store.windows import attachments, windows

if TYPE_CHECKING:
    from catena.transcript.messages.prompt import Siblings


MOST_HITS = 10_000
_FIRST_ROWS = 1_000  # looked through at first, for the first hit
_MOST_ROWS = 16_000  # looked through at once,
_MOST_FOUND = 500  # or fewer if many have the text: the search for the next letter waits for them

ReadBranch: TypeAlias = Callable[
    [Callable[[Reader, str | None], Awaitable[Sequence[Message]]]], Awaitable[Sequence[Message]]
]


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of a branch, and how often the text is in it."""

    message: Message
    hits: int


async def search_branch(
    read: ReadBranch, text: str, depths: range, *, upwards: bool
) -> AsyncGenerator[list[FoundRow], None]:
    """The rows with a text between two depths of a branch, from one end to the other, some thousand at a time.

    ``read`` reads from the branch, in a snapshot. Each list is in the order of the search, ``upwards`` or down. The
    search ends behind the list with which there are more than 10,000 hits.
    """
    from catena.transcript.model.source import TextPattern, searchable_text

    pattern = TextPattern(text)

    def counted(rows: Sequence[Message]) -> list[FoundRow]:
        found = [FoundRow(row, pattern.count(searchable_text(row))) for row in rows]
        return [each for each in found if each.hits]

    hits, some, top, bottom = 0, _FIRST_ROWS, depths.start, depths.stop - 1
    while top <= bottom and hits <= MOST_HITS:
        first, last = (max(top, bottom - some + 1), bottom) if upwards else (top, min(bottom, top + some - 1))

        async def candidates(
            reader: Reader, leaf: str | None, first: int = first, last: int = last
        ) -> list[Message]:
            if leaf is None:
                return []
            return await search.rows_with_text(reader, leaf, text, top=first, bottom=last)

        rows = await read(candidates)
        found = await asyncio.to_thread(counted, rows[::-1] if upwards else rows) if rows else []
        hits += sum(each.hits for each in found)
        yield found
        top, bottom = (top, first - 1) if upwards else (last + 1, bottom)
        some = min(4 * some, _MOST_ROWS) if len(rows) < _MOST_FOUND else max(some // 4, _FIRST_ROWS)


NO_PROMPTS = "No prompts here yet."
T = TypeVar("T")

PAGE = 60
_AROUND = 90  # rows around a place: what a screen shows, and as much above it;
_ABOVE = 30  # so many of them are above it
END = 3 * PAGE  # newest rows that are known while others are shown
_PAGES_OF_ANSWERS = 200  # rows above a leaf, among which an answer is looked for


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Rows of a branch that follow one another, oldest first."""

    rows: list[Message]
    siblings: Mapping[str, Siblings]  # of the prompts that have any
    below: int = 0  # how many rows of the branch follow
    end: Sequence[Message] = ()  # the newest rows of the branch, if the page does not reach to its end
    scroll: int | None = None  # the reading position that it is around; None for the end of the branch

    @property
    def more_above(self) -> bool:
        """True if the branch goes on above the first row."""
        return bool(self.rows) and self.rows[0].parent_id is not None

    def holds(self, scroll: int | None) -> bool:
        """True if the rows around a reading position are here, or the end for None."""
        if scroll is None or not self.rows:
            return not self.below
        depth = ReadingPosition.unpack(scroll).depth
        below_top = depth >= self.rows[0].depth or not self.more_above
        return below_top and (depth <= self.rows[-1].depth or not self.below)

    @property
    def newest(self) -> Sequence[Message]:
        """Rows that reach to the end of the branch."""
        return self.end or self.rows


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

    async def page_at(
        self, tab: Tab, place: int | str | None, *, known: Sequence[Message] = ()
    ) -> HistoryPage:
        """The rows around a place of a tab's branch: a reading position, a message, or the end for None.

        ``known`` are rows up to the end of the branch, which are not read again if that is still its end. Raises
        NotFound for a message that is not on the branch.
        """

        async def read(reader: Reader, leaf_id: str | None) -> HistoryPage:
            scroll = place
            if isinstance(scroll, str):
                if not await ancestry.contains(reader, leaf_id, scroll):
                    raise NotFound("message", scroll)
                scroll = ReadingPosition(await messages.depth(reader, scroll), 0, 0).pack()
            if leaf_id is None or scroll is None:
                return await _page(reader, tab, await messages.page(reader, leaf_id, PAGE))
            last = await messages.depth(reader, leaf_id)
            top = max(0, min(ReadingPosition.unpack(scroll).depth, last) - _ABOVE)
            near = last - top < _AROUND + PAGE
            rows = await messages.page_from(reader, leaf_id, top, last - top + 1 if near else _AROUND)
            end: Sequence[Message] = known[-END:] if known and known[-1].id == leaf_id else ()
            if not near and not end:
                end = await messages.page(reader, leaf_id, END)
            below = last - rows[-1].depth
            return await _page(reader, tab, rows, below=below, end=end if below else (), scroll=scroll)

        return await self.of_branch(tab, read)

    async def page_above(self, tab: Tab, oldest: Message) -> HistoryPage:
        """The rows before the oldest one that is shown."""
        async with self._db.read() as reader:
            return await _page(reader, tab, await messages.page(reader, oldest.parent_id, PAGE * 2))

    async def page_below(self, tab: Tab, newest: Message) -> HistoryPage:
        """The rows behind the newest one that is shown."""

        async def read(reader: Reader, leaf_id: str | None) -> HistoryPage:
            if leaf_id is None:
                return await _page(reader, tab, [])
            rows = await messages.page_from(reader, leaf_id, newest.depth + 1, PAGE * 2)
            reached = rows[-1].depth if rows else newest.depth
            below = max(0, await messages.depth(reader, leaf_id) - reached)
            return await _page(reader, tab, rows, below=below)

        return await self.of_branch(tab, read)

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

    async def length(self, tab: Tab) -> int:
        """How many rows a tab's branch has."""

        async def read(reader: Reader, leaf_id: str | None) -> int:
            return await messages.depth(reader, leaf_id) + 1 if leaf_id else 0

        return await self.of_branch(tab, read)

    def search(
        self, tab: Tab, text: str, depths: range, *, upwards: bool
    ) -> AsyncGenerator[list[FoundRow], None]:
        """The rows with a text between two depths of a tab's branch, as ``search_branch`` finds them."""
        return search_branch(partial(self.of_branch_at_length, tab), text, depths, upwards=upwards)

    async def siblings(self, tab: Tab, prompt_id: str) -> Mapping[str, Siblings]:
        """The place of a prompt among its siblings, if it has any."""
        async with self._db.read() as reader:
            return await _siblings(reader, tab, [prompt_id])

    async def branch_point(self, tab: Tab, depth: int | None, step: int) -> Message | None:
        """The next prompt with siblings above (-1) or below (1) a depth of a tab's branch; None: above its end."""

        async def read(reader: Reader, leaf_id: str | None) -> Message | None:
            parted = await ancestry.partings(reader, leaf_id, tab.conversation.id)
            places = await branches.sibling_positions(reader, parted, tab.conversation.id)
            points = [row for id in places if (row := await messages.get(reader, id))]
            if depth is None:
                return max(points, key=lambda row: row.depth, default=None)
            beyond = [row for row in points if (row.depth - depth) * step > 0]
            return min(beyond, key=lambda row: abs(row.depth - depth), default=None)

        return await self.of_branch(tab, read)

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

    async def position_of(self, message_id: str) -> int | None:
        """The reading position of a message; None for one that is gone."""
        async with self._db.read() as reader:
            message = await messages.get(reader, message_id)
        return ReadingPosition(message.depth, 0, 0).pack() if message else None

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


async def _page(
    reader: Reader,
    tab: Tab,
    rows: Sequence[Message],
    *,
    below: int = 0,
    end: Sequence[Message] = (),
    scroll: int | None = None,
) -> HistoryPage:
    siblings = await _siblings(reader, tab, [row.id for row in rows if row.kind is Kind.USER])
    return HistoryPage(tab.with_published_text(rows), siblings, below, tab.with_published_text(end), scroll)


async def _siblings(reader: Reader, tab: Tab, prompt_ids: Sequence[str]) -> Mapping[str, Siblings]:
    from catena.transcript.messages.prompt import Siblings

    conversation = tab.conversation
    positions = await branches.sibling_positions(reader, prompt_ids, conversation.id)
    agents = await branches.agents_told_apart(reader, list(positions), conversation.id) if positions else {}
    titles = {id: conversation.tree.title_of(*agent) for id, agent in agents.items()}
    return {id: Siblings(*place, titles.get(id, "")) for id, place in positions.items()}
