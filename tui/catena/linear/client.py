"""One client in linear mode: it reads lines, does what they say, and says what happens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from catena.acts.surface import Refused, next_prompt
from catena.errors import CommandRefused, ExitStatus, explain
from catena.linear.commands.commands import LinearCommands, command_of, refusal_of, unknown_text
from catena.linear.context import LinearContext
from catena.linear.input import InputLine
from catena.linear.narrator import Narrator
from catena.linear.questions import Questions
from catena.linear.rows import spoken
from catena.text.prompt_text import SIGN, is_long, piece_words
from catena.workspace.next_price import is_priced, read_next_price, shown_price
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs
from catena_acp.continuity.routing.slash_commands import command_name
from catena_acp.errors import AgentError, GivenUp, ReadOnly, StillAtWork
from catena_acp.tasks import TaskSet
from catena_store.errors import UNWRITABLE

_SETTLING_SECONDS = 30.0
_AGAIN_SECONDS = 10.0  # within which a second Ctrl+C leaves; to hear the sentence that says so takes three


class LinearClient:
    """The main loop, and the ways out of it."""

    def __init__(self, context: LinearContext) -> None:
        self._context = context
        self._questions = Questions(context, send=self._send_reason)
        self._narrator = Narrator(
            context, announce=self._questions.announce, closed=self._questions.closed, ready=self._ready
        )
        self._commands = LinearCommands(context, self._narrator, self._questions)
        self._command: asyncio.Task[None] | None = None  # that is being done
        self._tasks = TaskSet()
        self._over = False
        self._waits_for_line = False
        self._typed_behind = ""  # the marker that the newest line stands behind
        self._resting: asyncio.Task[None] | None = None  # waits until a prompt would go out at once
        self._pricing: asyncio.Task[None] | None = None  # reads what that prompt would send besides itself
        self._priced = ""  # the price that was said last
        self._asked_to_leave = False
        self._interrupted_at: float | None = None
        self.status = 0
        self.quits = False  # the person asked to leave
        context.leave = self._leave

    # --- its life

    async def run(self, tabs: OpenTabs) -> None:
        """Serve the person until they leave, or the input ends.

        Raises StoreError if the first conversation of a script cannot be opened: its lines would be about nothing.
        """
        self._context.tabs = tabs
        narrating = asyncio.create_task(self._narrator.run())
        watching = asyncio.create_task(tabs.watch_store(self._say_trouble))
        try:
            await self._begin(tabs, waits=self._context.input.terminal)
            if self._context.input.editor is not None and not self._over:
                for text in reversed(await tabs.recent_inputs()):
                    self._context.input.remember(text)
            if self._context.start.picker and not self._over:
                await self._do(self._commands.history.history(""))
            while not self._over:
                await self._ready_for_line()
                if self._over:
                    return
                await self._context.place_kept()
                line = await self._next_line()
                if line is None:
                    await self._end_of_input()
                else:
                    self._interrupted_at = None
                    await self._take(line)
            await self._narrator.catch_up()
        finally:
            if self._resting is not None:
                self._tasks.add(self._resting)
            if self._pricing is not None:
                self._tasks.add(self._pricing)
            for task in (narrating, watching, *self._tasks):
                task.cancel()
            await asyncio.gather(narrating, watching, *self._tasks, return_exceptions=True)

    async def _begin(self, tabs: OpenTabs, *, waits: bool) -> None:
        """Open what the person begins with; whoever waits for the store no longer leaves, since nothing is open yet."""
        if await self._do(tabs.restore(waits=waits), needed=not waits):
            await self._do(self._commands.tabs.begin(), needed=not waits)
        else:
            self.end(ExitStatus.STOPPED)

    def _say_trouble(self, text: str) -> None:
        self._context.out.last_line(f"Trouble: {text}", bells=3)

    def _leave(self) -> None:
        self._over = True
        self._context.input.close()

    def end(self, status: int) -> None:
        """Leave because of a signal, or since nobody reads: whatever is being done is cancelled."""
        if not self.status:
            self.status = status
        if self._command is not None:
            self._command.cancel()
        self._leave()

    # --- lines

    async def _next_line(self) -> InputLine | None:
        context, tab = self._context, self._context.tab
        if tab is not None and not context.echoes and tab.window.at_rest:  # no marker is waited for
            await read_next_price(tab)
            self._say_price(tab)
        self._waits_for_line, self._typed_behind = True, ""
        self._ready()
        try:
            line = await context.input.line(more=self._more)
        finally:
            self._waits_for_line = False
        self._typed_behind = self._typed_behind or context.out.marker
        if context.echoes and line is not None:
            context.out.entered()
        return line

    def _more(self) -> None:
        """A line of a text of several was read."""
        self._typed_behind = self._typed_behind or self._context.out.marker
        if self._context.echoes:
            self._context.out.entered()
            self._context.out.mark("... ")

    def _ready(self) -> None:
        """Show where the person types, while nothing goes on that will say more."""
        context = self._context
        if not (self._waits_for_line and context.echoes) or context.in_dialog:
            return
        tab = context.tab
        if self._questions.open is not None:
            context.mark("Answer: ")
        elif tab is None or (tab.window.at_rest and all(item.held for item in tab.queue)):
            if tab is None or is_priced(tab):
                self._say_price(tab)
                context.mark(f"You {context.numbers.next}: ")
            elif self._pricing is None or self._pricing.done():
                self._pricing = asyncio.create_task(self._ready_at_its_price(tab))
        elif self._resting is None or self._resting.done():
            self._resting = asyncio.create_task(self._ready_at_rest(tab))

    async def _ready_at_rest(self, tab: Tab) -> None:
        await tab.window.wait_idle()
        self._resting = None
        if tab is self._context.tab and not self._context.tabs.events and not self._over:
            self._ready()

    async def _ready_at_its_price(self, tab: Tab) -> None:
        await read_next_price(tab)
        self._pricing = None
        if not self._over:
            self._ready()

    def _say_price(self, tab: Tab | None) -> None:
        """Say what the next prompt sends besides itself, unless that has been said already."""
        price = shown_price(tab) if tab is not None else None
        words = replace(price, exact=True).words if price is not None else ""
        before, self._priced = self._priced, words
        if price is not None and words != before and not self._context.has_said(words):
            self._context.say(next_prompt(price.words))

    async def _ready_for_line(self) -> None:
        """Where a file or a pipe is read, wait until the agent asks something, or has answered."""
        if self._context.input.terminal:
            return
        while (tab := self._context.tab) is not None and self._questions.open is None and not self._over:
            idle = asyncio.ensure_future(self._settled(tab))
            news = asyncio.ensure_future(self._narrator.progress())
            await asyncio.wait({idle, news}, return_when=asyncio.FIRST_COMPLETED)
            quiet = idle.done() and not self._context.tabs.events
            for task in (idle, news):
                task.cancel()
            if quiet:
                return
            if self._context.tabs.events:
                await self._narrator.catch_up()

    async def _settled(self, tab: Tab) -> None:
        """Wait for the turn, and a while for what is done behind it: prices of the next command depend on that."""
        await tab.window.wait_idle()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SETTLING_SECONDS):
                await tab.window.settled()

    async def _take(self, line: InputLine) -> None:
        context, text = self._context, line.text
        context.arrived = line.arrived
        context.said.clear()
        if not text.startswith("/"):
            self._asked_to_leave = False
        asked = self._questions.open
        if asked is None or text.startswith("/"):
            context.input.remember(text.rstrip())
        if asked is not None and (not text.strip() or not text.startswith(("/", " ", SIGN))):
            await self._do(self._questions.answer(line))
        elif not text.strip() and context.tab and context.tab.window.leave_opening():
            return
        elif not text.strip():
            self._commands.reading.where()
        elif text.startswith(SIGN) and context.settings.shell:
            await self._do(self._commands.prompts.shell(text.removeprefix(SIGN).strip()))
        elif (name := command_name(text)) is not None:
            await self._do(self._command_of(name, text))
        else:
            self._note_typed(text)
            if line.pasted and is_long(text):
                words = piece_words(text)
                context.say(f"{words[0].upper()}{words[1:]}.")
            await self._do(self._commands.prompts.say(text))

    def _note_typed(self, text: str) -> None:
        """Note that a prompt stands behind its marker already, if it does."""
        context, number = self._context, self._context.numbers.next
        behind = self._typed_behind == f"You {number}: " and context.here.window.at_rest
        context.typed = (number, text) if behind else None

    async def _command_of(self, name: str, text: str) -> None:
        """Do what a command says: one of ours, a template of the person's, or one of the agent's."""
        argument = text[len(name) + 1 :].strip()
        command, argument = command_of(name, argument)
        if command is not None:
            leaves = command.name == "quit"
            self._asked_to_leave = self._asked_to_leave and leaves
            if refusal := refusal_of(command, argument):
                raise Refused(refusal)
            await (self._quit() if leaves else self._commands.do(command, argument))
            return
        self._asked_to_leave = False
        if name == "cancel" and self._questions.postpone():
            return
        templates = await self._commands.agents.templates()
        if template := templates.get(name):
            await self._commands.agents.use_template(template, argument)
            return
        announced = await self._commands.agents.announced()
        if name in announced:
            self._note_typed(text)
            await self._commands.prompts.say(text)
        else:
            self._context.say(unknown_text(name, (*templates, *announced)))

    async def _do(self, act: Coroutine[Any, Any, None], *, needed: bool = False) -> bool:
        """Do something to its end and say what goes wrong; False if it was interrupted.

        If it is ``needed`` for all that follows, it raises what is no error of an agent's instead.
        """
        self._command = task = asyncio.create_task(self._guarded(act, needed=needed))
        try:
            await asyncio.wait({task})
        finally:
            self._command = None
            task.cancel()
        if task.cancelled():
            self._context.say("Cancelled.")
        elif (error := task.exception()) is not None:
            raise error
        return not task.cancelled()

    async def _guarded(self, act: Coroutine[Any, Any, None], *, needed: bool = False) -> None:
        try:
            await act
        except GivenUp:
            self._context.say("Stopped.")
        except StillAtWork:
            self._context.say("The agent is still working; /stop stops it.")
        except CommandRefused as refused:
            self._context.say(str(refused))
        except BrokenPipeError:  # nobody listens any more
            raise
        except Exception as error:  # one command that fails ends nothing else
            if needed and not isinstance(error, AgentError | ReadOnly):
                raise
            text, _ = explain(error)
            self._context.out.line(f"Trouble: {spoken(text)}")
            if isinstance(error, UNWRITABLE) and not self._context.input.terminal:
                self._context.say("Nothing can be saved, so the rest of the script is not run.")
                self.status = self.status or ExitStatus.USAGE
                self._leave()

    def _send_reason(self, tab: Tab, text: str) -> None:
        self._tasks.begin(self._guarded(self._commands.prompts.say(text, tab=tab)))

    # --- the ways out

    async def _quit(self) -> None:
        if question := ("" if self._asked_to_leave else self._commands.tabs.leave_question()):
            self._asked_to_leave = True
            self._context.say(f"{question} /quit again, or Ctrl+D, stops it and leaves.")
        else:
            self.quits = True
            self._leave()

    async def _end_of_input(self) -> None:
        """The end of the input: of a file when all of it is done, of a terminal at once, or asked about once."""
        context = self._context
        if context.input.terminal:
            context.out.interrupted()
            await self._quit()
            return
        await self._reject_questions()
        for tab in tuple(context.tabs.tabs):
            if (
                tab is not context.tab
                and tab.window.busy
                and not tab.conversation.read_only
                and not self._over
            ):
                await self._do(self._commands.tabs.show(tab))
                await self._ready_for_line()
                await self._reject_questions()
        self._leave()

    async def _reject_questions(self) -> None:
        """Reject what is asked, since nobody answers, until the tab that is read asks nothing more."""
        while self._questions.open is not None and not self._over:
            self._context.say("The input has ended: nobody answers, so it is rejected.")
            await self._do(self._questions.close())
            await self._ready_for_line()

    def interrupt(self) -> None:
        """Ctrl+C: cancel what is being typed or done, else stop the turn; the second time, leave."""
        context, marker = self._context, self._context.out.marker
        context.out.interrupted()
        now, before = context.clock(), self._interrupted_at
        self._interrupted_at = now
        tab = context.tab
        if context.input.drop_unfinished():
            context.say("Cancelled.")
            self._interrupted_at = None
            if context.in_dialog:
                context.out.mark(marker)
        elif before is not None and now - before <= _AGAIN_SECONDS:
            self.end(ExitStatus.STOPPED)
        elif self._command is not None:
            self._command.cancel()
        elif tab is not None and tab.busy and not tab.conversation.read_only:
            context.out.line(f"Waiting: {context.agent} is asked to stop. Ctrl+C again leaves.")
            self._interrupted_at = now
            self._tasks.begin(self._guarded(tab.window.stop()))
        else:
            context.say("Ctrl+C again leaves, and so does Ctrl+D.")
        self._ready()


def parting_lines(resume_id: str | None, *, flag: str) -> list[str]:
    """The last line: how to come back."""
    return [f"To continue: catena {flag}--resume {resume_id}"] if resume_id else []
