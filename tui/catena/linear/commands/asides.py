"""Side questions: none of them is saved."""

from __future__ import annotations

import asyncio
import contextlib

from catena.acts.surface import AnswerTo, Refused, SideQuestion
from catena.errors import CommandRefused
from catena.export import write_new
from catena.linear.context import LinearContext
from catena.linear.rows import answer_line, spoken
from catena.linear.sentences import SentenceCutter, SpokenLine
from catena.mentions.mentions import with_mentions_of
from catena.text.formats import from_home
from catena.text.safe_text import safe, safe_line
from catena.workspace.tab import Tab
from catena_acp.continuity.conversation_events import MessageAdded, MessageGrew
from catena_acp.conversation.asides.asides import Aside, AsideEnded, AsideOpened
from catena_store.records import Kind

_WAYS = "/insert puts the answer into the draft, /save into a file, /begin into a new conversation."


class AsideDialog:
    """Side questions and their answers, until an empty line or a command ends them."""

    def __init__(self, context: LinearContext, tab: Tab, aside: Aside, question: SideQuestion) -> None:
        self._context = context
        self._tab = tab
        self._aside = aside
        self._question = question

    async def lead(self) -> tuple[str, AnswerTo]:
        """Ask the questions; return the last answer, and what becomes of it."""
        context, aside = self._context, self._aside
        try:
            context.say(f"Side question, not saved: {context.title}, {spoken(aside.price.words)}.")
            with context.dialog():
                to = await self._go_on(self._question.text, self._question.typed)
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(asyncio.ensure_future(aside.close()))
        context.say("The side question is over.")
        return aside.text, to

    async def _go_on(self, question: str, typed: str) -> AnswerTo:
        context = self._context
        while True:
            if question:
                await self._answer(question, typed)
                context.say(f"The next line asks more; an empty one ends it. {_WAYS}")
            question = typed = (await context.ask_text("Side question: ") or "").strip()
            match question:
                case "":
                    return AnswerTo.NOTHING
                case "/insert":
                    return AnswerTo.DRAFT
                case "/begin":
                    return AnswerTo.NEW_CONVERSATION
                case "/save":
                    await self._save()
                    return AnswerTo.NOTHING
                case _ if question.startswith("/"):
                    raise Refused(f"{safe_line(question)} is no command of a side question. {_WAYS}")

    async def _answer(self, question: str, typed: str) -> None:
        context, aside = self._context, self._aside
        cutter, label = SentenceCutter(), f"{context.agent}, aside:"
        growing: str | None = None

        def say(lines: list[SpokenLine]) -> None:
            nonlocal label
            for line in lines:
                context.out.line(answer_line(line, context.agent, label))
                label = ""

        files = await with_mentions_of(self._tab, question, ())
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

    async def _save(self) -> None:
        directory, stem = self._tab.conversation.record.cwd, self._question.stem
        try:
            path = await asyncio.to_thread(write_new, directory, stem, safe(self._aside.text))
        except OSError as error:
            raise CommandRefused(f"{stem}.md cannot be written: {error.strerror}") from error
        self._context.say(f"Wrote {from_home(str(path))}")
