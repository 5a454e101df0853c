"""Reading: messages by their numbers, what was found, what the agent knows, sessions, costs, files and changes."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import partial
from pathlib import Path

from catena.acts.surface import Refused
from catena.linear import rows
from catena.linear.commands.prompts import numbered_message
from catena.linear.context import LinearContext, ListRow
from catena.text.call_text import raw_text
from catena.text.formats import from_home
from catena.text.safe_text import safe, safe_line
from catena.workspace.branch_search import MOST_HITS
from catena_acp.continuity.conversation_events import Doing
from catena_acp.continuity.wording.counts import counted
from catena_acp.spoken.call import Call
from catena_store.conversations import messages
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
            context.say("No conversation is open: /new begins one, /history lists the others.")
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
            path = Path(directory, Path(named.strip()).expanduser())
            with path.open("xb") as file:
                file.write(content)
            return path

        try:
            path = await asyncio.to_thread(write)
        except FileExistsError as error:
            raise Refused(f"{safe_line(named)} exists already. Name another file.") from error
        except OSError as error:
            raise Refused(f"{safe_line(named)} cannot be written: {error.strerror}") from error
        context.say(f"Wrote {from_home(safe_line(str(path)))}")

    async def find(self, argument: str) -> None:
        """List the messages of this branch that show a text; `/open` reads one."""
        context = self._context
        if not argument:
            raise Refused("/find WORDS looks for them in this branch; /history WORDS in every conversation.")
        from catena.transcript.model.searchable import searchable_text

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
