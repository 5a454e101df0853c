"""Reading: messages by their numbers, what was found, sessions, costs, files and changes; and the history."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path

from catena.acts.surface import NO_TAB, STAYED, Refused
from catena.errors import refusing_path
from catena.export.files import refusing
from catena.history.entries import HistoryEntry, TypedHistory
from catena.history.finding import FoundConversation, MessageFinder, answers
from catena.history.listing import HistoryListing
from catena.history.other_tools import OtherTools
from catena.history.query import HistoryQuery
from catena.history.reading import HistoryReader, lives
from catena.linear import rows
from catena.linear.commands.prompts import numbered_message
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext, ListRow
from catena.text.call_text import raw_text
from catena.text.formats import from_home, program_of, time_or_day
from catena.text.safe_text import safe, safe_line
from catena.workspace.lookup import find_conversation
from catena.workspace.tab_branches import MOST_HITS
from catena_acp.continuity.conversation_events import Doing
from catena_acp.continuity.wording.counts import counted
from catena_acp.spoken.call import Call
from catena_store.conversations import branches, messages
from catena_store.errors import Ambiguous, NotFound
from catena_store.ids import utc_now
from catena_store.records import Kind, Message

_FOUND = 20
_READ = 40  # messages that are read at a time


class ReadingCommands:
    """Actions that read, and change nothing."""

    def __init__(self, context: LinearContext) -> None:
        self._context = context

    # --- where the person is

    def where(self) -> None:
        """Say what goes on: Enter alone asks for it."""
        context, tab = self._context, self._context.tab
        if tab is None:
            context.say(NO_TAB)
        elif tab.at_work and tab.doing is not Doing.ASKING:
            context.say(f"{context.title} is at work. /stop or Ctrl+C stops it; what you type is queued.")
        else:
            context.say(f"{context.title} is ready; type a prompt, or /help.")

    # --- messages

    async def show(self, argument: str) -> None:
        """Read all of a message: a prompt, an answer, a tool call with its changes and its output."""
        if not argument:
            raise Refused(
                "/show N reads message N in full; the last number is " + str(self._context.numbers.last)
            )
        await self._say_message(await numbered_message(self._context, argument), whole=True)

    async def read(self, argument: str) -> None:
        """Read the branch from a number on; without one, its last messages."""
        context = self._context
        first = max(1, context.numbers.last - _READ // 4)
        if argument:
            await numbered_message(context, argument)
            first = int(argument.strip().rstrip(":."))
        ids = context.numbers.from_number(first)
        if not ids:
            raise Refused("Nothing was said yet.")
        async with context.tabs.store.read() as reader:
            found = [await messages.get(reader, id) for id in ids[:_READ]]
        for row in found:
            if row is not None:
                await self._say_message(row, whole=False)
        if len(ids) > _READ:
            context.say(f"{len(ids) - _READ:,} more: /show from {first + _READ} goes on.")

    async def _say_message(self, row: Message, *, whole: bool) -> None:
        context, out = self._context, self._context.out
        number = context.numbers.of(row.id) or 0
        match row.kind:
            case Kind.USER:
                siblings = await context.tabs.branches.siblings(context.here, row.id)
                place = siblings.get(row.id)
                version = f"version {place.position} of {place.of}" if place else ""
                out.lines(rows.prompt_lines(row, number, version, whole=whole))
            case Kind.TOOL:
                directory = context.here.conversation.record.cwd
                call = Call.of(row)
                out.line(rows.tool_line(call, number, directory))
                if whole:
                    if given := raw_text(call.raw_input):
                        out.line("Input:")
                        out.lines(rows.set_in(line) for line in safe(given).splitlines())
                    out.lines(rows.tool_details(call, directory))
                else:
                    out.lines(rows.note_lines(call))
                    out.lines(rows.failure_lines(call))
            case Kind.AGENT | Kind.THOUGHT | Kind.PLAN | Kind.NOTICE | Kind.SEAM:
                out.lines(rows.answer_lines(row, number, context.agent))

    async def save(self, argument: str) -> None:
        """Write a message into a file as it was sent: `/save 5 FILE`; of a call with images, the last image."""
        context = self._context
        number, _, named = argument.partition(" ")
        if not named.strip():
            raise Refused("/export message N FILE writes message N into a file.")
        row = await numbered_message(context, number)
        directory = context.here.conversation.record.cwd
        images = [
            each for each in await context.tabs.branches.attachments_of(row.id) if row.kind is not Kind.USER
        ]
        content = images[-1].content if images else row.text.encode("utf-8", "replace")

        def write() -> Path:
            with refusing_path(named.strip()):
                path = Path(directory, Path(named.strip()).expanduser())
            with path.open("xb") as file:
                file.write(content)
            return path

        with refusing(safe_line(named)):
            path = await asyncio.to_thread(write)
        context.say(f"Wrote {from_home(safe_line(str(path)))}")

    async def find(self, argument: str) -> None:
        """List the messages of this branch that show a text; `/open` reads one."""
        context = self._context
        if not argument:
            raise Refused("/find WORDS looks for them in this branch; /history WORDS in every conversation.")
        from catena.transcript.model.source import searchable_text

        found, newest, hits = 0, list[tuple[int, Message]](), 0
        tab, store = context.here, context.tabs
        end = await store.branches.length(tab)
        async with aclosing(store.branches.search(tab, argument, range(end), upwards=True)) as pages:
            async for page in pages:
                hits += sum(each.hits for each in page)
                numbered = [
                    (number, each.message) for each in page if (number := context.numbers.of(each.message.id))
                ]
                found += len(numbered)
                newest += numbered[: _FOUND - len(newest)]
        if not found:
            raise Refused("Not found in this branch.")
        names = {Kind.USER: "You", Kind.AGENT: context.agent, Kind.TOOL: "Tool"}
        more = "More than " if hits > MOST_HITS else ""
        context.show(
            f"Found: {more}{counted(found, 'message')}. /open and a number reads one.",
            [
                ListRow(
                    f"{names.get(row.kind, '')} {number}, {_around(searchable_text(row), argument)}",
                    partial(self._say_message, row, whole=True),
                )
                for number, row in reversed(newest)
            ],
        )

    # --- costs, files, changes, the plan

    async def plan(self) -> None:
        """Read the plan of the agent, or the open work that its answers name."""
        steps, source = self._context.here.open_work()
        if not steps:
            raise Refused("There is no plan.")
        self._context.out.line(rows.plan_line(steps) + (f", {source}" if source else ""))
        self._context.out.lines(rows.plan_details(steps))


def _around(text: str, wanted: str) -> str:
    line = safe_line(text)
    at = max(0, line.lower().find(wanted.lower()) - 30)
    return f"{'...' if at else ''}{line[at : at + 90]}"


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
                context.say(STAYED)
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
                found = await find_conversation(reader, directory=context.tabs.directory, named=argument)
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
