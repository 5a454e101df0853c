"""Tabs and whole conversations: opened, left, named, kept, moved to another directory, written into a file."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from catena.acts.surface import Refused
from catena.linear import rows
from catena.linear.context import LinearContext, ListRow
from catena.settings.agent_choices import agent_choices
from catena.settings.agents import default_agent, find_agent
from catena.text.changes_text import cut
from catena.text.formats import from_home, listed, time_or_day
from catena.text.names import conversation_name
from catena.text.safe_text import safe_line
from catena.workspace.directories import is_directory
from catena.workspace.tab import Tab
from catena.workspace.tabs import READ_ONLY
from catena_acp.continuity.wording.counts import counted
from catena_acp.port.port import AgentSpec
from catena_store.conversations import messages
from catena_store.errors import StoreError
from catena_store.ids import utc_now
from catena_store.records import Kind, Message

if TYPE_CHECKING:
    from catena.linear.narrator import Narrator
    from catena.linear.questions import Questions

_LISTED = 3  # conversations, at the start of a directory without tabs
_COUNTING_SECONDS = 1.0  # of other tools' sessions; the first tab waits for it
_ANSWER_LINES = 12  # of the last answer, when a conversation is opened
_LAST_ROWS = 80  # among which the last exchange is looked for


class TabCommands:
    """Actions on tabs, and on the conversation of the tab that is read."""

    def __init__(self, context: LinearContext, narrator: Narrator, questions: Questions) -> None:
        self._context = context
        self._narrator = narrator
        self._questions = questions

    # --- the beginning

    async def begin(self) -> None:
        """Show the tab that was restored, or open what was asked for, or let the person choose an agent."""
        context, start, tabs = self._context, self._context.start, self._context.tabs
        if tabs.read_only:
            context.say(READ_ONLY)
        if start.conversation_id is not None:
            await self.show(await tabs.open_conversation(start.conversation_id))
        elif start.agent is not None and not tabs.read_only:
            empty = (tab for tab in tabs.tabs if tab.untouched and tab.answered_by(start.agent))
            await self.show(next(empty, None) or await tabs.open_new(start.agent))
        elif context.tab is not None:
            await self.show(context.tab)
        elif not (start.picker or tabs.read_only):
            await self._first()
        if context.tab is None and not start.picker:
            context.say("/history lists the conversations, /new begins one.")
        if not (tabs.workspace_is_ours or tabs.read_only):
            context.say("Another Catena is open here. /history opens its conversations read-only.")
        if len(tabs.tabs) > 1:
            context.say(f"{counted(len(tabs.tabs), 'tab')} open; /tabs lists them.")

    async def _first(self) -> None:
        """Open the first tab: with the agent of the settings, else with the one that the person chooses."""
        context, settings = self._context, self._context.settings
        if context.input.terminal:
            await self._say_other_tools()
        last_used = await context.tabs.last_used_agent()
        if settings.agent is not None or not context.input.terminal or not context.tabs.workspace_is_ours:
            await self.show(await context.tabs.open_new(default_agent(settings, last_used)))
            return
        await self._say_recent()
        spec = await self.choose_agent("Choose: which agent?", last_used, first=True)
        if spec is not None:
            await self.show(await context.tabs.open_new(spec))

    async def _say_other_tools(self) -> None:
        """Say that other tools have sessions here, unless it takes long to count them."""
        from catena.history.sessions_here import sessions_here

        tabs = self._context.tabs
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(_COUNTING_SECONDS):
                here = await sessions_here(tabs.store, self._context.settings, tabs.directory)
            if here:
                self._context.say(f"{here}: /history here all-sources lists them.")

    async def _say_recent(self) -> None:
        newest, count = await self._context.tabs.newest_here(_LISTED)
        if not newest:
            return

        def row(id: str, words: str) -> ListRow:
            return ListRow(words, lambda: self.open_conversation(id))

        self._context.show(
            f"Conversations here: {count:,}. /open and a number opens one.",
            [
                row(
                    each.id,
                    f"{safe_line(conversation_name(each.title, each.preview))}, "
                    f"{time_or_day(each.updated_at, utc_now())}",
                )
                for each, _ in newest
            ],
        )

    async def choose_agent(
        self,
        heading: str,
        last_used: tuple[str, str] | None,
        prices: Callable[[list[AgentSpec]], Awaitable[list[str]]] | None = None,
        *,
        used: Mapping[str, str] | None = None,
        first: bool = False,
    ) -> AgentSpec | None:
        """The agent that the person chooses among those that are installed; None if they choose none.

        ``used`` are the agents of the conversation, ``first``: Enter alone takes the first one.
        """
        context = self._context
        known = await asyncio.to_thread(
            agent_choices,
            context.settings,
            last_used,
            used=used,
            limited=context.tab.trouble.limited if context.tab else None,
        )
        found = [each for each in known if each.found]
        specs = [find_agent(each.name, context.settings) for each in found]
        priced = await prices(specs) if prices else [""] * len(specs)
        words = [
            ", ".join(filter(None, (safe_line(each.title), str(each.readiness), each.about, price)))
            for each, price in zip(found, priced, strict=True)
        ]
        at = await context.choose(
            f"{heading} /agent list lists those that are not installed, too.", words, first=first
        )
        return None if at is None else specs[at]

    # --- showing

    async def show(self, tab: Tab) -> None:
        """Read a tab from now on: say where it stands, and open its session behind that."""
        context, tabs = self._context, self._context.tabs
        left = context.tab
        if left is not None and left is not tab and left in tabs.tabs:
            await tabs.keep(left)
        await tabs.stand_in(tabs.panes.focused, tab)
        await self._narrator.begin(tab)
        await self.describe(tab)
        self._questions.announce()
        if not tab.prepared and not tab.conversation.read_only:
            tab.prepared = True
            for directory in context.start.further_directories:
                await tab.conversation.add_directory(directory)
            await self._prepare(tab)

    async def arrive(self, tab: Tab) -> None:
        """Say where a tab stands after it was moved to another leaf."""
        await self._narrator.catch_up()
        await self._narrator.begin(tab)
        await self._say_last(tab)
        await self._say_draft(tab)
        if not tab.conversation.read_only:
            await tab.window.prepare()

    async def _prepare(self, tab: Tab) -> None:
        if await asyncio.to_thread(is_directory, tab.conversation.record.cwd):
            await tab.window.prepare()
            return
        await self._context.do("cd", "")

    async def describe(self, tab: Tab) -> None:
        """Say which conversation a tab has, and what was said last in it."""
        context, conversation = self._context, tab.conversation
        pieces = [context.title, f"in {safe_line(from_home(conversation.record.cwd))}"]
        if context.numbers.last:
            pieces.append(f"{counted(context.numbers.last, 'message')}")
        name = "a new conversation" if tab.untouched else safe_line(tab.name())
        context.out.line(f"Open: {name}, {', '.join(pieces)}")
        if line := await context.tabs.lineage_line(tab):
            context.out.line(f"Note: {rows.spoken(line)}")
        if conversation.read_only:
            from catena_acp.continuity.wording.problems import hold_words

            context.out.line(
                f"Note: {hold_words(conversation.holder, context.tabs.host, free=conversation.free)}"
            )
        await self._say_last(tab)
        if added := tab.added_words():
            context.out.line(f"Note: {added}")
        if tab.elsewhere is not None:
            context.say(f"{tab.elsewhere.words('/tree end')}.")
        if tab.queue:
            context.say(f"{counted(len(tab.queue), 'prompt')} queued; /queue lists.")
        await self._say_draft(tab)

    async def _say_last(self, tab: Tab) -> None:
        """Say the last exchange of a branch."""
        context = self._context
        async with context.tabs.store.read() as reader:
            found = await messages.page(reader, tab.leaf_id, _LAST_ROWS)
        shown = tab.with_published_text(found)
        answers = [row for row in shown if row.kind is Kind.AGENT]
        prompts = [row for row in shown if row.kind is Kind.USER]
        last = prompts[-1:] + [row for row in answers[-1:] if not prompts or row.depth > prompts[-1].depth]
        for row in last:
            self.say_message(row, most=_ANSWER_LINES)
        if shown and not tab.busy:
            from catena.linear.narrator import offer_lines
            from catena_acp.continuity.wording.problems import BACK_IN_COMPOSER, problem_of_notice

            kept = problem_of_notice(shown[-1])
            tab.trouble.restore(kept, agent=(tab.agent, tab.profile), leaf_id=shown[-1].id)
            if (standing := tab.trouble.standing) is not None:
                text = standing.problem.text.replace(BACK_IN_COMPOSER, "")
                context.out.line(f"Trouble: {safe_line(text)}")
                context.out.lines(offer_lines(standing))

    def say_message(self, row: Message, *, most: int | None = None) -> None:
        """Say a prompt or an answer with its number."""
        context, number = self._context, self._context.numbers.of(row.id) or 0
        lines = (
            rows.prompt_lines(row, number)
            if row.kind is Kind.USER
            else rows.answer_lines(row, number, context.agent)
        )
        context.out.lines(cut(lines, most, f"/show {number} reads all."))

    async def _say_draft(self, tab: Tab) -> None:
        if tab.written.strip():
            self._context.out.line(f"Draft: {safe_line(tab.written)[:200]}")
            self._context.say("/draft send sends it, /draft reads it, /draft drop drops it.")

    # --- from tab to tab

    async def open_conversation(self, conversation_id: str) -> None:
        """Read a conversation, in its tab or in a new one."""
        await self.show(await self._context.tabs.open_conversation(conversation_id))

    async def tabs(self) -> None:
        """List the tabs; `/open` goes to one."""
        context = self._context

        def row(tab: Tab) -> ListRow:
            state = {"?": "asks", "◐": "works", "!": "failed", "•": "unread", "◇": "read-only"}
            words = (safe_line(tab.name()), state.get(tab.mark, ""), "here" if tab is context.tab else "")
            return ListRow(", ".join(filter(None, words)), lambda: self.show(tab))

        context.show(
            f"Tabs: {len(context.tabs.tabs)}. /open and a number goes to one.",
            [row(tab) for tab in context.tabs.tabs],
            everywhere=True,
        )

    async def tab(self, argument: str) -> None:
        """Go to a tab by its number."""
        tabs = self._context.tabs.tabs
        if not argument:
            await self.tabs()
        elif argument.isdecimal() and 1 <= int(argument) <= len(tabs):
            await self.show(tabs[int(argument) - 1])
        else:
            raise Refused(f"There is no tab {safe_line(argument)}; /tabs lists them.")

    async def show_what_is_left(self) -> None:
        """Read another tab after one is gone."""
        context = self._context
        if (tab := context.tab) is not None:
            await self.show(tab)
        else:
            context.say("No tab is open: /new begins a conversation, /history lists the others.")

    def leave_question(self) -> str:
        """What leaving would stop, in words; "" for nothing."""
        tabs = self._context.tabs.tabs
        working = [tab for tab in tabs if tab.window.in_turn and not tab.conversation.read_only]
        running = [task for tab in tabs for task in tab.window.background]
        parts = []
        if working:
            agents = dict.fromkeys(safe_line(tab.agent_title) for tab in working)
            parts.append(f"{listed(list(agents))} {'is' if len(agents) == 1 else 'are'} at work.")
        if running:
            named = ", ".join(safe_line(task.title) for task in running[:2])
            parts.append(f"In the background: {named}.")
        return " ".join(parts)
