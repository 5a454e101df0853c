"""Reading: messages by their numbers, what was found, what the agent knows, sessions, costs, files and changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from catena.acts.surface import Refused
from catena.linear import rows
from catena.linear.commands.prompts import numbered_message
from catena.linear.context import LinearContext, ListRow
from catena.text.call_text import raw_text
from catena.text.chain_text import link_facts, next_line
from catena.text.changes_text import note_words, scope_words, shown_path, state_words
from catena.text.formats import from_home
from catena.text.safe_text import safe, safe_line
from catena.workspace.branch_search import MOST_HITS
from catena_acp.changes.changed_file import UnreadFile
from catena_acp.changes.hunks import diff_of_file
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.continuity.conversation_events import Doing
from catena_acp.continuity.wording.counts import counted
from catena_acp.spoken.call import Call
from catena_store.conversations import messages
from catena_store.errors import StoreError
from catena_store.records import Kind, Message

if TYPE_CHECKING:
    from catena.linear.questions import Questions

_FOUND = 20
_READ = 40  # messages that are read at a time
_LONG_FACTS = frozenset(
    ("session", "agent", "first", "log")
)  # ids, and what is said more briefly, of a session
_SCOPES = {"": Since.BRANCH, "branch": Since.BRANCH, "turn": Since.TURN, "look": Since.LOOK}


class ReadingCommands:
    """Actions that read, and change nothing."""

    def __init__(self, context: LinearContext, questions: Questions) -> None:
        self._context = context
        self._questions = questions

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
            context.say(f"{len(ids) - _READ:,} more: /read {first + _READ} goes on.")

    async def _say_message(self, row: Message, *, whole: bool) -> None:
        context, out = self._context, self._context.out
        number = context.numbers.of(row.id) or 0
        match row.kind:
            case Kind.USER:
                siblings = await context.tabs.branches.siblings(context.here, row.id)
                place = siblings.get(row.id)
                out.lines(
                    rows.prompt_lines(row, number, f"version {place.position} of {place.of}" if place else "")
                )
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
            case _:
                out.lines(rows.answer_lines(row, number, context.agent))

    async def save(self, argument: str) -> None:
        """Write a message into a file as it was sent: `/save 5 FILE`; of a call with images, the last image."""
        context = self._context
        number, _, named = argument.partition(" ")
        if not named.strip():
            raise Refused("/save N FILE writes message N into a file.")
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

    # --- sessions

    async def context(self, argument: str) -> None:
        """Say what the agent knew at a turn: of the message of a number, else of the newest; what was replayed."""
        tab, out = self._context.here, self._context.out
        message = await numbered_message(self._context, argument) if argument else None
        known = await tab.conversation.chain.context(tab.window, message.id if message else None)
        if known is None:
            raise Refused("Nothing has been sent yet.")
        out.line(
            f"Context: turn {known.number} of {known.total}, {safe_line(known.agent_title)}, {known.how}"
        )
        out.line(f"Context: its session knew {counted(known.knew, 'message')} before")
        if known.left_out:
            out.line(f"Context: {counted(known.turn.left_out, 'message')} left out")
            out.lines(f"Left out: {safe_line(each.text)[:100]}" for each in known.left_out)
        for number, noun, done in (
            (known.turn.shortened, "message", "shortened"),
            (known.turn.tools_left_out, "tool call", "left out"),
            (known.turn.masked, "secret", "masked"),
        ):
            if number:
                out.line(f"Context: {counted(number, noun)} {done}")
        if known.prior_context:
            out.line("Replayed:")
            out.lines(rows.set_in(line) for line in safe(known.prior_context).splitlines() if line.strip())

    async def chain(self) -> None:
        """List the sessions of the conversation, newest last; `/open` continues from one."""
        context, tab = self._context, self._context.here
        chain = await tab.conversation.chain.read(tab.window)

        async def pick(link_id: str) -> None:
            price = await tab.conversation.chain.price_of(tab.window, link_id)
            if await context.confirm(f"Continue where that session ended: {price.words}.", "continue there"):
                await tab.conversation.chain.pick(tab.window, link_id)
                await tab.window.prepare()

        if not chain.entries:
            raise Refused("No sessions yet.")
        listed = []
        left = {"directory"} if context.verbose else {"directory", *_LONG_FACTS}
        for entry in chain.entries:
            elsewhere = entry.link.cwd != tab.conversation.record.cwd
            facts = [
                f"{name}: {safe_line(' '.join(value.split()))}"
                for name, value in link_facts(entry)
                if name and (name not in left or (name == "directory" and elsewhere))
            ]
            listed.append(
                ListRow(f"{safe_line(entry.agent_title)}. {'. '.join(facts)}", partial(pick, entry.link.id))
            )
        context.show(
            f"Sessions: {counted(len(listed), 'session')}, newest last. /open and a number continues from one.",
            listed,
        )
        if context.verbose or not any(each.link.session_id in chain.next for each in chain.entries):
            context.say(next_line(chain))  # else a row says it, without an id

    async def background(self) -> None:
        """List what runs in the background."""
        context, tab = self._context, self._context.here
        if not tab.window.background:
            raise Refused("Nothing runs in the background.")
        for task in tab.window.background:
            last = f": {safe_line(task.last_line)}" if task.last_line else ""
            context.out.line(f"Background: {safe_line(task.title)}{last}")

    # --- costs, files, changes, the plan

    async def plan(self) -> None:
        """Read the plan of the agent, or the open work that its answers name."""
        entries, source = self._context.here.open_work()
        if not entries:
            raise Refused("There is no plan.")
        steps = [(safe_line(each.text), each.status) for each in entries]
        self._context.out.line(rows.plan_line(steps) + (f", {source}" if source else ""))
        self._context.out.lines(rows.plan_details(steps))

    async def changes(self, argument: str) -> None:
        """List the files that were changed on this branch, in the last turn, since the last look or a checkpoint.

        `/open` reads the changes of one.
        """
        context, tab = self._context, self._context.here
        await tab.conversation.settle()
        since = _SCOPES.get(argument.casefold())
        if since is not None:
            scope = ChangeScope(since)
        else:
            checkpoint = await tab.conversation.checkpoints.find(argument)
            scope = ChangeScope(Since.CHECKPOINT, checkpoint.message_id, checkpoint.label or argument)
        changes = await tab.conversation.changes.read(tab.leaf_id, scope)
        if not changes.files:
            raise Refused(f"No changes {scope_words(scope)}.")
        if changes.caveat:
            context.out.line(f"Note: {safe_line(changes.caveat)}")
        words = await asyncio.to_thread(
            lambda: [_file_words(each, changes.directory) for each in changes.files]
        )
        context.show(
            f"Changes {scope_words(scope)}: {counted(len(changes.files), 'file')}. /open and a number reads one.",
            [
                ListRow(line, partial(self._say_file, each, changes.directory))
                for line, each in zip(words, changes.files, strict=True)
            ],
        )
        if tab.leaf_id is not None:
            try:
                await tab.conversation.changes.note_look(tab.leaf_id)
            except StoreError as error:
                context.out.line(f"Trouble: {safe_line(str(error))}")

    async def _say_file(self, file: UnreadFile, directory: str) -> None:
        lines = await asyncio.to_thread(lambda: list(_file_lines(file, directory)))
        self._context.out.lines(lines)


def _file_words(file: UnreadFile, directory: str) -> str:
    read = file.read()
    if read is None:
        return shown_path(file.path, directory)
    diff = diff_of_file(read)
    state = state_words(read, directory, between=", ")
    counts = rows.size_words(diff.added, diff.removed) if diff.hunks else ""
    return ", ".join(filter(None, (shown_path(read.path, directory), state, counts)))


def _file_lines(file: UnreadFile, directory: str) -> Iterator[str]:
    yield f"Change: {_file_words(file, directory)}"
    read = file.read()
    if read is None:
        return
    if note := note_words(read):
        yield f"Note: {note}"
    for hunk in diff_of_file(read).hunks:
        yield from (rows.line_sentence(line) for line in hunk.hunk.lines if line.sign != " ")


def _around(text: str, wanted: str) -> str:
    line = safe_line(text)
    at = max(0, line.lower().find(wanted.lower()) - 30)
    return f"{'...' if at else ''}{line[at : at + 90]}"
