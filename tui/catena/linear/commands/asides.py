"""Side questions: any question, a summary, the text of a pull request; none of them is saved."""

from __future__ import annotations

import asyncio
import contextlib

from catena.acts.surface import Refused
from catena.errors import CommandRefused
from catena.export.files import free_path, writing
from catena.linear.commands.tabs import TabCommands
from catena.linear.context import LinearContext
from catena.linear.rows import answer_line, spoken
from catena.linear.sentences import SentenceCutter, SpokenLine
from catena.mentions.prompt_files import with_mentions_of
from catena.settings.agents import stored_agent
from catena.text.aside_text import PULL_REQUEST, SUMMARY, with_wish
from catena.text.formats import from_home
from catena.text.safe_text import safe, safe_line
from catena_acp.continuity.conversation_events import MessageAdded, MessageGrew
from catena_acp.conversation.asides.asides import Aside, AsideEnded, AsideOpened
from catena_store.records import Kind

_WAYS = "/insert puts the answer into the draft, /save into a file, /begin into a new conversation."


class AsideCommands:
    """Actions beside the conversation that is read."""

    def __init__(self, context: LinearContext, tabs: TabCommands) -> None:
        self._context = context
        self._tabs = tabs

    async def btw(self, argument: str) -> None:
        """Ask a side question, and more of them until an empty line."""
        await self._ask(argument, f"/btw {argument}", "aside")

    async def summary(self, argument: str) -> None:
        """Ask for a summary of the conversation."""
        await self._ask(with_wish(SUMMARY, argument), f"/summary {argument}".strip(), "summary")

    async def pull_request(self, argument: str) -> None:
        """Ask for the text of a pull request."""
        await self._ask(with_wish(PULL_REQUEST, argument), f"/pr {argument}".strip(), "pull-request")

    async def _ask(self, question: str, typed: str, stem: str) -> None:
        context, tab = self._context, self._context.here
        aside = await tab.conversation.asides.begin(tab.window)
        try:
            context.say(f"Side question, not saved: {context.title}, {spoken(aside.price.words)}.")
            with context.dialog():
                await self._go_on(aside, question, typed, stem)
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(asyncio.ensure_future(aside.close()))
        context.say("The side question is over.")

    async def _go_on(self, aside: Aside, question: str, typed: str, stem: str) -> None:
        """Ask one question after the other, until an empty line or a command ends it."""
        context = self._context
        while True:
            if question:
                await self._answer(aside, question, typed)
                context.say(f"The next line asks more; an empty one ends it. {_WAYS}")
            line = await context.ask_text("Side question: ")
            question = typed = (line or "").strip()
            if not question or await self._take(aside, question, stem):
                return

    async def _answer(self, aside: Aside, question: str, typed: str) -> None:
        context, tab = self._context, self._context.here
        cutter, label = SentenceCutter(), f"{context.agent}, aside:"
        growing: str | None = None

        def say(lines: list[SpokenLine]) -> None:
            nonlocal label
            for line in lines:
                context.out.line(answer_line(line, context.agent, label))
                label = ""

        files = await with_mentions_of(tab, question, ())
        try:
            async for event in aside.ask(question, files, typed=typed):
                match event:
                    case AsideOpened(words=words):
                        context.out.line(f"Note: {safe_line(words)}")
                    case MessageAdded(message=message) if message.kind is Kind.AGENT:
                        growing = message.id
                        say(cutter.feed(safe(message.text)))
                    case MessageGrew(message_id=id, text=text) if id == growing:
                        say(cutter.feed(safe(text)))
                    case AsideEnded(problem=problem):
                        say(cutter.rest())
                        if problem:
                            context.out.line(f"Trouble: {safe_line(problem)}")
                    case _:
                        pass
        except asyncio.CancelledError:
            await aside.stop()
            raise
        context.out.last_line("Done: the side question is answered")

    async def _take(self, aside: Aside, typed: str, stem: str) -> bool:
        """Do what a command says with the answer; False for a question."""
        context, tab = self._context, self._context.here
        answer = safe(aside.text)
        match typed:
            case "/insert":
                tab.append(answer)
                await context.tabs.keep(tab)
                context.say("Put into the draft.")
            case "/save":
                path = await asyncio.to_thread(self._save, tab.conversation.record.cwd, stem, answer)
                context.say(f"Wrote {from_home(path)}")
            case "/begin":
                spec = stored_agent(tab.agent, tab.profile, context.settings)
                opened = await context.tabs.open_new(spec, cwd=tab.conversation.record.cwd)
                opened.write(f"{answer}\n\n")
                await self._tabs.show(opened)
            case _ if typed.startswith("/"):
                raise Refused(f"{safe_line(typed)} is no command of a side question. {_WAYS}")
            case _:
                return False
        return True

    @staticmethod
    def _save(directory: str, stem: str, text: str) -> str:
        from pathlib import Path

        path = free_path(Path(directory), stem, "md")
        try:
            with writing(path) as file:
                file.write(f"{text}\n")
        except OSError as error:
            raise CommandRefused(f"{path} cannot be written: {error.strerror}") from error
        return str(path)
