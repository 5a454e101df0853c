"""The history: conversations listed and found, of this directory or of all, of other tools too, and opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from catena.acts.surface import Refused
from catena.history.entries import HistoryEntry
from catena.history.finding import FoundConversation, MessageFinder, answers
from catena.history.listing import HistoryListing
from catena.history.other_tools import OtherTools
from catena.history.query import HistoryQuery
from catena.history.reading import HistoryReader, lives
from catena.history.scopes import TypedHistory
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext, ListRow
from catena.text.formats import from_home, program_of, time_or_day
from catena.text.safe_text import safe_line
from catena_acp.continuity.wording.counts import counted
from catena_store.conversations import branches, conversations
from catena_store.errors import Ambiguous, NotFound
from catena_store.ids import utc_now

_LISTED = 20


class HistoryCommands:
    """Actions on all conversations."""

    def __init__(
        self, context: LinearContext, tabs: TabCommands, act: Callable[..., Awaitable[None]]
    ) -> None:
        self._context = context
        self._tabs = tabs
        self._act = act

    async def history(self, argument: str) -> None:
        """List conversations, newest first, or those with some words; `/open` opens one.

        `here` keeps to this directory, `all-sources` adds the sessions of other tools.
        """
        context, tabs = self._context, self._context.tabs
        typed = TypedHistory.parse(argument)
        text = typed.words
        query = HistoryQuery.parse(text, now=utc_now().astimezone())
        for each in query.problems:
            context.say(f"{safe_line(text[each.start : each.end])} is ignored: {each.problem}")
        listing = HistoryListing(directory=tabs.directory)
        reader = HistoryReader(tabs.store, listing, lives=lives(tabs.host, utc_now))
        others = OtherTools(tabs.store, tabs.foreign, context.settings)
        if typed.all_sources:
            async for _ in others.read_into(listing):
                pass
        found = await answers(reader, MessageFinder(tabs.store, listing), query, typed.scope, limit=_LISTED)
        if typed.here:
            found = [each for each in found if each.entry.cwd == tabs.directory]
        shown = found[:_LISTED]
        await reader.read([each.entry.key for each in shown if each.entry.outlined])
        shown = [replace(each, entry=listing.get(each.entry.key) or each.entry) for each in shown]
        if not found:
            raise Refused("Nothing found." if text else "No conversations yet; /new begins one.")
        more = f", the first {_LISTED}" if len(found) > _LISTED else ""
        context.show(
            f"History: {counted(len(found), 'conversation')}{more}. /open and a number opens one.",
            [ListRow(_words(each), partial(self._open, each, others)) for each in shown],
            everywhere=True,
        )

    async def _open(self, found: FoundConversation, others: OtherTools) -> None:
        key = await others.adopt(found.entry.key) if found.entry.foreign else found.entry.key
        if found.hit is not None:
            await self.visit(key, found.hit.message_id)
        else:
            await self._tabs.open_conversation(key)

    async def visit(self, conversation_id: str, message_id: str) -> None:
        """Open a conversation on the branch of a message that was found, and name its number."""
        await self._tabs.open_conversation(conversation_id)
        context, tab = self._context, self._context.here
        if not await context.tabs.branches.on_branch(tab, message_id):
            if tab.at_work:
                context.say(
                    "An agent is working here, so it stays on its branch: what was found is on another one."
                )
                return
            async with context.tabs.store.read() as reader:
                leaf = await branches.last_leaf(reader, tab.window_id, tab.conversation.id, message_id)
            await self._act("catena.acts.branches:go_to", leaf_id=leaf or message_id)
        number = context.numbers.of(message_id)
        if number is not None:
            context.say(f"Found in {number}: /show {number} reads it.")

    async def open(self, argument: str) -> None:
        """Take a number of the last list, or open a conversation by its id, the start of it, or its title."""
        context = self._context
        if argument.isdecimal() and len(argument) < 6:
            await context.listed_row(int(argument)).open()
            return
        if not argument:
            await self.history("")
            return
        try:
            async with context.tabs.store.read() as reader:
                found = await conversations.find(reader, argument)
        except (NotFound, Ambiguous) as error:
            raise Refused(str(error)) from error
        await self._tabs.open_conversation(found.id)


def _words(found: FoundConversation) -> str:
    entry: HistoryEntry = found.entry
    pieces = [
        safe_line(entry.name),
        str(entry.state),
        time_or_day(entry.updated_at, utc_now()),
        safe_line(program_of(entry.agent)),
        from_home(safe_line(entry.cwd)),
        "open here" if entry.opened else "",
        "pinned" if entry.pinned else "",
        "archived" if entry.archived else "",
        f"{entry.branches} branches" if entry.branches > 1 else "",
        counted(entry.todos, "open todo") if entry.todos else "",
    ]
    hit = f". Found: {safe_line(found.hit.snippet)}" if found.hit else ""
    return ", ".join(filter(None, pieces)) + hit
