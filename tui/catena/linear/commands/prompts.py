"""Prompts: sent, edited, retried, stopped, queued, kept as a draft, with files and the output of commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from catena.acts.surface import NO_QUEUE, NOTHING_CHANGED, Refused
from catena.linear import rows
from catena.linear.context import LinearContext, ListRow
from catena.mentions.mentions import with_mentions_of
from catena.text.changes_text import spoken_size
from catena.text.formats import joined
from catena.text.safe_text import safe, safe_line
from catena.workspace.files_along import FILES_STAY, Extent, FilesAlong, moved_words
from catena.workspace.tab import Tab
from catena.workspace.tab_branches import NO_PROMPTS
from catena.workspace.trouble import RETRY_CANCELLED
from catena_acp.continuity.routing.slash_commands import command_name
from catena_acp.continuity.wording.counts import counted
from catena_acp.errors import AgentError, ReadOnly
from catena_acp.snapshots.restoring import FileChoice
from catena_acp.tasks import TaskSet
from catena_acp.trouble.reset_times import format_time
from catena_store.conversations import messages
from catena_store.errors import NotAttachable, StoreError
from catena_store.ids import utc_now
from catena_store.records import Attachment, Message

_INPUTS = 20  # that are listed


def numbered(context: LinearContext, argument: str, *, known: bool = True) -> str | None:
    """The id of the message of a number; unless it is to be ``known``, None for one that nobody has. Raises Refused."""
    number = argument.strip().rstrip(":.")
    if not number.isdecimal():
        raise Refused(
            f"{safe_line(argument) or 'That'} is not the number of a message. /show from reads them."
        )
    id = context.numbers.id_of(int(number)) if len(number) < 9 else None
    if id is None and known:
        last = context.numbers.last
        raise Refused(
            f"There is no message {number}: the last is {last}." if last else "Nothing was said yet."
        )
    return id


async def numbered_message(context: LinearContext, argument: str) -> Message:
    """The message of a number. Raises Refused."""
    async with context.tabs.store.read() as reader:
        found = await messages.get(reader, numbered(context, argument) or "")
    if found is None:
        raise Refused(f"{argument.strip()} is gone.")
    return found


async def prompt_of(context: LinearContext, argument: str) -> Message:
    """The prompt of a number, which may be that of its answer; without one the last prompt. Raises Refused."""
    if argument:
        prompt = await context.tabs.branches.prompt_of((await numbered_message(context, argument)).id)
    else:
        leaf = context.here.leaf_id
        prompt = await context.tabs.branches.prompt_of(leaf) if leaf else None
    if prompt is None:
        raise Refused(NO_PROMPTS)
    return prompt


def announced(tab: Tab) -> tuple[str, ...]:
    """The names of the commands that the agent of a tab has announced."""
    return tuple(each.name for each in (tab.session or tab.window.session).commands or ())


class PromptCommands:
    """Actions on prompts of the tab that is read."""

    def __init__(self, context: LinearContext, act: Callable[..., Awaitable[None]]) -> None:
        self._context = context
        self._act = act
        self._waiting = TaskSet()  # for the ends of limits

    # --- sending

    async def say(
        self, text: str, *, tab: Tab | None = None, files: tuple[Attachment, ...] | None = None
    ) -> None:
        """Send a prompt, or queue it while a turn runs; one that cannot be sent is kept as the draft."""
        tab = tab or self._context.here
        attached = tab.draft_files if files is None else files
        if files is None:
            tab.draft_files = ()
        text = text.strip("\n")
        try:
            await tab.window.say(text, await with_mentions_of(tab, text, attached))
        except (AgentError, StoreError, ReadOnly, NotAttachable):
            tab.restore(text, attached)
            self._context.say(
                "Not sent; your text is kept as a draft: /draft send sends it, /draft reads it."
            )
            raise
        if attached:
            await self._context.tabs.keep_attachments(tab)

    async def send(self) -> None:
        """Send the draft."""
        tab = self._context.here
        if not (text := tab.draft).strip():
            raise Refused("There is no draft.")
        tab.draft = ""
        await self.say(text)
        await self._context.tabs.keep(tab)

    async def draft(self) -> None:
        """Read the draft."""
        context, tab = self._context, self._context.here
        if not tab.draft.strip():
            context.say("There is no draft.")
            return
        context.out.line("Draft:")
        context.out.lines(rows.set_in(line) for line in safe(tab.draft).splitlines())
        context.say("/draft send sends it, /draft drop drops it.")

    async def drop(self) -> None:
        """Drop the draft; it stays among the inputs."""
        context, tab = self._context, self._context.here
        text, tab.draft = tab.draft, ""
        if text.strip():
            await context.tabs.remember_inputs([text], tab.conversation.record.cwd)
            await context.tabs.keep(tab)
            context.say("Dropped; /history inputs still has it.")
        else:
            context.say("There is no draft.")

    async def write(self, text: str) -> None:
        """Put a text behind the draft."""
        tab = self._context.here
        tab.draft = joined(tab.draft.rstrip(), text)
        await self._context.tabs.keep(tab)
        self._context.say("Put into the draft: /draft send sends it, /draft reads it, /draft drop drops it.")

    async def quote(self, argument: str) -> None:
        """Quote a message in the draft."""
        message = await numbered_message(self._context, argument)
        await self.write("\n".join(f"> {line}" for line in message.text.strip().splitlines()) + "\n")

    # --- editing

    async def edit(self, argument: str) -> None:
        """Let the next line take the place of a prompt; an empty one cancels."""
        context, tab = self._context, self._context.here
        prompt = await prompt_of(context, argument)
        number = context.numbers.of(prompt.id) or 0
        files = tuple(await context.tabs.branches.attachments_of(prompt.id))
        price = await tab.conversation.chain.price(tab.window, leaf_id=prompt.parent_id)
        first, *more = safe(prompt.text).split("\n")
        context.out.line(f"You {number}, now: {first}")
        context.out.lines(rows.set_in(line) for line in more if line.strip())
        choice = await choose_files(context, tab, prompt.parent_id, says=True)
        stops = " Sending it stops the running turn." if tab.at_work else ""
        context.say(
            f"The next line is the new prompt; an empty one cancels. It needs: {price.words}.{stops} "
            "What came later stays in /tree."
        )
        text = await context.ask_text(f"You {number}: ")
        if text is None or not text.strip():
            context.say("Cancelled; nothing was changed.")
            return
        if (name := command_name(text)) is not None and name not in announced(tab):
            raise Refused(f"/{name} is a command, so nothing was sent; a space before it makes it a prompt.")
        if tab.draft.strip() or tab.draft_files:
            await context.tabs.keep_behind(tab, tab.draft, tab.draft_files, tab.scroll)
            tab.draft, tab.draft_files = "", ()
            context.say("Your draft stays on the earlier version.")
        context.typed = (number, text)
        try:
            sent = await with_mentions_of(tab, text, files)
            await tab.window.edit(prompt.id, text, sent, choice=choice)
        except (AgentError, StoreError, ReadOnly, NotAttachable):
            tab.restore(text)
            context.say("Not sent; your text is kept as a draft.")
            raise

    async def wait(self) -> None:
        """Send the prompt again at the end of its limit; again: stop waiting."""
        context, tab = self._context, self._context.here
        if tab.trouble.stop_waiting():
            context.say(RETRY_CANCELLED)
            return
        if (end := tab.trouble.wait()) is None:
            raise Refused("There is no limit to wait for.")
        at = format_time(end, utc_now())
        context.say(f"Sent again when the limit ends, at {at}. /retry wait again stops waiting.")
        self._waiting.begin(self._when_it_ends(tab))

    async def _when_it_ends(self, tab: Tab) -> None:
        if await self._context.tabs.wait_out(tab):
            try:
                await self._act("catena.acts.prompts:send_again", tab=tab)
            except (AgentError, StoreError, ReadOnly, Refused) as error:
                self._context.out.line(f"Trouble: {safe_line(str(error))}")

    # --- the queue

    async def go_on(self) -> None:
        """Send what an error or a stop held back."""
        tab = self._context.here
        if not tab.queue:
            raise Refused(NO_QUEUE)
        await tab.window.send_queued()

    # --- files, earlier inputs, shell

    async def inputs(self, argument: str) -> None:
        """List what was typed before, with some words in it; `/open` puts one into the draft."""
        context = self._context
        texts = dict.fromkeys(await context.tabs.recent_inputs())
        found = [text for text in texts if argument.lower() in text.lower()][:_INPUTS]
        if not found:
            raise Refused("Not in the prompt history.")
        context.show(
            f"Prompt history: {counted(len(found), 'text')}. /open and a number puts one into the draft.",
            [ListRow(safe_line(text)[:200], partial(self.write, text)) for text in found],
        )

    async def shell(self, command: str) -> None:
        """Run a command of the person's; its output goes into the draft."""
        from catena.terminal.programs import ShellCommand, ShellNotStarted
        from catena.text.prompt_text import output_block, plain_output

        context, tab = self._context, self._context.here
        if not command:
            raise Refused("! and a command runs it; its output goes into the draft.")
        running = ShellCommand(
            command, directory=tab.conversation.record.cwd, environment=context.environment
        )
        try:
            end = await running.run(lambda: None)
        except asyncio.CancelledError:
            running.stop()
            raise
        except ShellNotStarted as error:
            raise Refused(str(error)) from error
        context.out.line(f"Output: {', '.join(filter(None, (safe_line(command), end)))}")
        context.out.lines(rows.set_in(line) for line in plain_output(running.output.text).splitlines())
        await self.write(output_block(command, running.output.text, end))


UNCHANGED = "Files are unchanged."


async def choose_files(
    context: LinearContext, tab: Tab, target: str | None, *, says: bool = False
) -> FileChoice | None:
    """Let the person choose what becomes of files on the way to a row; None where they stay.

    Enter takes what the settings have. Where nobody types, that is taken unasked, and said if ``says``: for acts that
    say nothing of it afterwards. Raises Refused where the input ends.
    """
    along = FilesAlong(by_default=context.settings.files_follow)
    await along.look(tab.conversation.files, tab.window_id, target)
    if context.input.terminal:
        if await choose_extent(context, along):
            raise Refused(NOTHING_CHANGED)
    elif says and (said := said_along(along)):
        context.say(said)
    return along.choice


def said_along(along: FilesAlong) -> str:
    """A sentence about the files that go along unasked; "" if there are none."""
    words = along.words_with("", size=spoken_size) if along.offered and along.choice is not None else ""
    return f"{words[:1].upper()}{words[1:]}." if words else ""


async def offer_files(context: LinearContext, tab: Tab) -> None:
    """Offer the files that did not go along to where a tab stands now; unless somebody types, they stay."""
    along = FilesAlong()
    await along.look(tab.conversation.files, tab.window_id, tab.leaf_id)
    if not context.input.terminal or await choose_extent(context, along):
        return
    if (choice := along.choice) is not None:
        context.say(moved_words(await tab.window.bring_files(choice)) or UNCHANGED)


async def choose_extent(
    context: LinearContext, along: FilesAlong, heading: str = "Files:", yes: str = ""
) -> bool:
    """Ask what becomes of files, if there is a choice; True if nothing was chosen.

    Enter takes what holds anyway, unless the question is another one that files belong to: ``yes`` is its answer.
    """
    if not along.offered:
        return False
    extents = _extents(along)
    stay = FILES_STAY if yes else FILES_STAY.capitalize()
    words = [f"{yes}{stay if each is Extent.NONE else _words(along, each)}" for each in extents]
    chosen = await context.choose(heading, words, first=not yes)
    if chosen is None:
        return True
    if extents[chosen] is not along.extent:
        along.chosen = extents[chosen]
    return False


def _extents(along: FilesAlong) -> list[Extent]:
    """What may be chosen; what holds anyway comes first."""
    return sorted(along.offers, key=lambda extent: extent is not along.extent)


def _words(along: FilesAlong, extent: Extent) -> str:
    return FilesAlong(plan=along.plan, chosen=extent).words_with("", size=spoken_size)
