"""The context of a turn: how it got to the agent, and the exact text of the prior context."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from catena.desktop.clipboard import copied_words
from catena.keys.bindings import priority_bindings
from catena.screens.common.dialog import STYLES
from catena.screens.common.page import SCROLL_KEYS, ReadingPane, ReadingScreen
from catena.text.chain_text import context_facts, context_place, next_lines
from catena.text.safe_text import safe
from catena.widgets.sheet_edges import SheetKey, SheetWords, Subject
from catena_acp.conversation.inspection.chain import TurnContext
from catena_acp.conversation.inspection.conversation_chain import ConversationChain
from catena_acp.conversation.prompts.window import Window


class ContextScreen(ReadingScreen[str | None]):
    """The context of one turn; keys step to the turns before and after it."""

    CSS_PATH = [STYLES, "context.tcss"]  # noqa: RUF012 - as Textual declares them
    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(
            leave="leave",
            cancel="leave",
            close_page="leave",
            context_close="leave",
            turn_before="step(-1)",
            turn_after="step(1)",
            context_fold="fold",
            context_copy="copy",
        ),
        *SCROLL_KEYS,
    ]

    def __init__(
        self,
        context: TurnContext,
        chain: ConversationChain,
        window: Window,
        *,
        subject: Subject,
    ) -> None:
        super().__init__(SheetWords("Context", subject=subject))
        self._chain = chain
        self._of_window = window
        self._turn_context = context
        self._folded = False
        self._steps = 0  # turns still to step over: forward, or back where negative
        self._stepping = False

    def compose(self) -> ComposeResult:
        """Head, facts, prior context, keys."""
        yield from self.compose_head()
        with ReadingPane(id="text", can_focus=False):
            yield Static("", id="facts", markup=False)
            yield Static("", id="told", markup=False)
            yield Static("", id="next", markup=False)
        yield from self.compose_foot(
            SheetKey("{turn_before}", "earlier", "step(-1)"),
            SheetKey("{turn_after}", "later", "step(1)"),
            SheetKey("{context_fold}", "fold", "fold"),
            SheetKey("{context_copy}", "copy the text", "copy"),
            SheetKey("{leave}", "close", "leave"),
        )

    def on_mount(self) -> None:
        """Show the context of the turn."""
        self._show()

    def _show(self) -> None:
        context = self._turn_context
        subject = Subject(self.subject.conversation, context.agent_title)
        self.show_head(f"Context · {context_place(context)}", subject=subject)
        self.say("")
        self.query_one("#facts", Static).update(Content(safe("\n".join(context_facts(context)))))
        told = context.prior_context
        text = self.query_one("#told", Static)
        text.display = told is not None and not self._folded
        text.update(Content(safe(told) if told is not None and text.display else ""))
        self.query_one("#next", Static).update(Content(safe("\n".join(next_of(context)))))

    def action_fold(self) -> None:
        """Fold or unfold the prior context."""
        self._folded = not self._folded
        self._show()

    def action_copy(self) -> None:
        """Copy the prior context, byte for byte."""
        if (told := self._turn_context.prior_context) is not None:
            self.app.copy_to_clipboard(told)
            self.say(copied_words(f"{len(told):,} characters", os.environ))

    def action_step(self, step: int) -> None:
        """Step to the turn before or after; presses count while a turn is read."""
        self._steps += step
        if not self._stepping:
            self._stepping = True
            self.run_worker(self._run_steps())

    async def _run_steps(self) -> None:
        try:
            while self._steps:
                step = 1 if self._steps > 0 else -1
                self._steps -= step
                wanted = self._turn_context.before if step < 0 else self._turn_context.after
                if wanted is not None:
                    await self.attempt(self._read(wanted))
        finally:
            self._stepping = False

    async def _read(self, turn_id: str) -> None:
        context = await self._chain.context(self._of_window, turn_id=turn_id)
        if context is not None:
            self._turn_context = context
            self._show()
            self.reader.scroll_home(animate=False)


def next_of(context: TurnContext) -> Iterator[str]:
    """Where the next prompt would go and what it makes of each link, a line each; of the newest turn only."""
    if context.next:
        yield ""
        yield from next_lines(context.next)
