"""The conversation, the panels at its end (the agent's questions, trouble, fork question), and plan and queue below."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from catena.screens.chat.commands.area_commands import AreaCommands
from catena.screens.chat.conversation_area import ConversationArea
from catena.screens.chat.panels.elicitation import ElicitationPanel
from catena.screens.chat.panels.fork import ForkPanel
from catena.screens.chat.panels.permission import PermissionPanel
from catena.screens.chat.panels.plan import PlanPanel
from catena.screens.chat.panels.queue import QueueList
from catena.screens.chat.panels.trouble import TroublePanel

if TYPE_CHECKING:  # a name of types
    from catena_acp.continuity.conversation_events import Question


class PanelStack(Vertical):
    """The conversation and the panels of one chat, each visible only while it has content.

    While a question or a trouble is open, it stands right below the end of the conversation, which takes no more rows
    than it has; plan and queue stand above the composer.
    """

    DEFAULT_CSS = """
    PanelStack {
        height: 1fr;
        & > .column { height: auto; align-horizontal: center; }
        & > #standing { dock: bottom; }
    }
    """

    class HintPosted(Message):
        """A panel has a text for the hint line."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        commands: AreaCommands,
        *,
        conversation: ConversationArea,
        composer: Widget,
        id: str | None = None,
    ) -> None:
        """``composer`` gets the focus after a decision."""
        super().__init__(id=id)
        self.conversation = conversation
        self.commands = commands
        self._composer = composer
        self.plan = PlanPanel(id="plan")
        self.queue = QueueList(id="queue")
        self.permission = PermissionPanel(id="permission")
        self.elicitation = ElicitationPanel(give_keys=self._write, id="elicitation")
        self.trouble = TroublePanel(id="trouble")
        self.fork = ForkPanel(give_keys=self._write, changed=self.fit, id="fork")

    def compose(self) -> ComposeResult:
        """Yield the conversation with what is asked at its end, then what stands above the composer."""
        yield self.conversation
        with Vertical(classes="column"):
            yield self.permission
            yield self.elicitation
            yield self.trouble
            yield self.fork
        with Vertical(id="standing", classes="column"):
            yield self.plan
            yield self.queue

    def heed_clicks(self, heeds: Callable[[], bool]) -> None:
        """Let a click choose an option only where ``heeds`` is true."""
        for band in (self.permission.band, self.elicitation.band, self.trouble, self.fork):
            band.heeds_click = heeds

    @property
    def standing(self) -> bool:
        """True while the plan or the queue stands above the composer."""
        return self.plan.has_class("-open") or self.queue.has_class("-any")

    @property
    def question(self) -> Question | None:
        """The open question of the agent that is shown."""
        return self.permission.ask or self.elicitation.ask

    def fit(self) -> None:
        """Let the conversation take no more rows than it has while a question stands below it."""
        asked = self.question is not None or self.trouble.open or self.fork.open
        self.conversation.fit(asked)

    def place_of(self, focused: Widget) -> str | None:
        """The place that a focused widget is in, such as question, reason, form or trouble; None if in no panel."""
        places = (
            (self.permission, "question"),
            (self.trouble, "trouble"),
            (self.queue, "queue"),
            (self.fork, "branch"),
        )
        for panel, place in places:
            if focused is panel:
                return place
        if self.elicitation in focused.ancestors_with_self:
            return "form" if self.elicitation.typing else "page"
        return "reason" if self.permission in focused.ancestors else None

    def enter(self) -> None:
        """Focus the agent's open question, else the trouble panel."""
        if self.question is not None:
            self.focus_question()
        elif self.trouble.can_act:
            self.screen.set_focus(self.trouble)

    def focus_question(self) -> None:
        """Focus the agent's open question, or the field of its form that had the keys last."""
        if self.elicitation.ask is not None:
            self.elicitation.enter()
        else:
            self.screen.set_focus(self.permission)

    def _write(self) -> None:
        self.screen.set_focus(self._composer)

    def on_permission_panel_answered(self, event: PermissionPanel.Answered) -> None:
        """Answer the agent; the handler keeps the reason from now on."""
        event.stop()
        if event.reason:
            self.permission.take_reason()
        self.commands.handle(event)

    @on(ElicitationPanel.Answered)
    @on(PermissionPanel.ReasonLeft)
    @on(QueueList.Removed)
    @on(QueueList.Deleted)
    @on(QueueList.SentNow)
    @on(QueueList.Moved)
    def _decided(
        self,
        event: ElicitationPanel.Answered
        | PermissionPanel.ReasonLeft
        | QueueList.Removed
        | QueueList.Deleted
        | QueueList.SentNow
        | QueueList.Moved,
    ) -> None:
        event.stop()
        self.commands.handle(event)

    def on_permission_panel_diff_wanted(self, event: PermissionPanel.DiffWanted) -> None:
        """Show the whole change."""
        from catena.screens.common.page import PageScreen
        from catena.transcript.widget.subject_block import SubjectBlock

        event.stop()
        self.app.push_screen(
            PageScreen("Full diff", SubjectBlock(event.ask.tool_call, event.directory, whole=True))
        )

    @on(ElicitationPanel.Mistyped)
    @on(PermissionPanel.Mistyped)
    @on(TroublePanel.Mistyped)
    @on(ForkPanel.Mistyped)
    def _mistyped(
        self,
        event: ElicitationPanel.Mistyped
        | PermissionPanel.Mistyped
        | TroublePanel.Mistyped
        | ForkPanel.Mistyped,
    ) -> None:
        event.stop()
        self.post_message(self.HintPosted(event.text))

    def on_trouble_panel_taken(self, event: TroublePanel.Taken) -> None:
        """Carry out the offer and focus the composer."""
        event.stop()
        self._write()
        self.commands.handle(event)

    @on(TroublePanel.Left)
    @on(QueueList.Left)
    def _left(self, event: Message) -> None:
        event.stop()
        self._write()
