"""The panels of one chat, in two columns: what is asked at the end of the conversation, and what stands above the
composer. They come behind the first frame: nothing is asked before the store is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from catena.screens.chat.panels.elicitation import ElicitationPanel
from catena.screens.chat.panels.fork import ForkPanel
from catena.screens.chat.panels.permission import PermissionPanel
from catena.screens.chat.panels.plan import PlanPanel
from catena.screens.chat.panels.queue import QueueList
from catena.screens.chat.panels.trouble import TroublePanel

if TYPE_CHECKING:  # names of types
    from catena.screens.chat.commands.dispatch import ChatEvent
    from catena.terminal.times import KeyPace, Sight, Standing
    from catena_acp.continuity.conversation_events import Question


class QuestionColumn(Vertical):
    """The panels at the end of the conversation, each visible only while it has content.

    They are the agent's questions, the trouble and the question before a fork.
    """

    DEFAULT_CSS = """
    QuestionColumn { height: auto; align-horizontal: center; }
    """

    class HintPosted(Message):
        """A panel has a text for the hint line."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        *,
        handle: Callable[[ChatEvent], None],
        give_keys: Callable[[], None],
        changed: Callable[[], None],
        rows: Callable[[int], int],
        pace: KeyPace,
        sight: Sight,
        heeds_clicks: Callable[[], bool],
    ) -> None:
        """``handle`` carries out a decision, ``give_keys`` gives the keys to the composer after it.

        ``changed`` is told that a panel opens, closes or takes other rows. ``rows`` tells how many there are on a
        screen of a height. A click chooses an option only where ``heeds_clicks``.
        """
        super().__init__()
        self._handle = handle
        self._give_keys = give_keys
        self._changed = changed
        self.permission = PermissionPanel(id="permission")
        self.elicitation = ElicitationPanel(give_keys=give_keys, id="elicitation")
        self.trouble = TroublePanel(id="trouble")
        self.fork = ForkPanel(give_keys=give_keys, changed=changed, id="fork")
        for panel in (self.permission, self.elicitation, self.fork):
            panel.pace, panel.standing.sight = pace, sight
        for band in (self.permission.band, self.elicitation.band, self.trouble, self.fork):
            band.heeds_click = heeds_clicks
            band.rows = rows

    def compose(self) -> ComposeResult:
        """Yield the panels."""
        yield self.permission
        yield self.elicitation
        yield self.trouble
        yield self.fork

    def on_resize(self) -> None:
        """Tell that it takes other rows."""
        self._changed()

    def lay_out(self) -> None:
        """Lay out what is asked for other rows than there were."""
        self.permission.on_resize()
        self.elicitation.on_resize()
        self.trouble.refresh(layout=True)
        self.fork.refresh(layout=True)

    @property
    def question(self) -> Question | None:
        """The open question of the agent that is shown."""
        return self.permission.ask or self.elicitation.ask

    @property
    def standing(self) -> Standing:
        """Whether the open question has stood long enough to be answered."""
        return (self.permission if self.permission.ask is not None else self.elicitation).standing

    @property
    def asks(self) -> bool:
        """True while one of the panels is open."""
        return self.question is not None or self.trouble.open or self.fork.open

    def place_of(self, focused: Widget) -> str | None:
        """The place that a focused widget is in, such as question, reason, form or trouble; None if in no panel."""
        for panel, place in (
            (self.permission, "question"),
            (self.trouble, "trouble"),
            (self.fork, "branch"),
        ):
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

    def on_permission_panel_answered(self, event: PermissionPanel.Answered) -> None:
        """Answer the agent; the handler keeps the reason from now on."""
        event.stop()
        if event.reason:
            self.permission.take_reason()
        self._handle(event)

    @on(ElicitationPanel.Answered)
    @on(PermissionPanel.ReasonLeft)
    def _decided(self, event: ElicitationPanel.Answered | PermissionPanel.ReasonLeft) -> None:
        event.stop()
        self._handle(event)

    def on_permission_panel_diff_wanted(self, event: PermissionPanel.DiffWanted) -> None:
        """Show the whole change, or all of a request without one."""
        from catena.screens.common.page import PageScreen
        from catena.transcript.messages.tool_rows import changed_files
        from catena.transcript.widget.blocks import SubjectBlock
        from catena.widgets.sheet_edges import Subject
        from catena.workspace.questions.permission_words import subject_lines

        event.stop()
        asked = event.ask.subject
        title = "Full diff" if self.permission.has_change else "The request in full"
        about = Subject(changed_files(asked, event.directory))
        lines = subject_lines(asked, event.directory)
        self.app.push_screen(
            PageScreen(
                title, SubjectBlock(asked.diffs, event.directory, whole=True, lines=lines), subject=about
            )
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
        self._give_keys()
        self._handle(event)

    def on_trouble_panel_left(self, event: TroublePanel.Left) -> None:
        """Focus the composer."""
        event.stop()
        self._give_keys()


class StandingColumn(Vertical):
    """Plan and queue above the composer, each visible only while it has content."""

    DEFAULT_CSS = """
    StandingColumn {
        dock: bottom;
        height: auto;
        align-horizontal: center;
        &.-crowded #plan, &.-crowded #queue { display: none; }
        &.-crowded #queue.-entered { display: block; max-height: 3; }
    }
    """

    def __init__(
        self,
        *,
        handle: Callable[[ChatEvent], None],
        give_keys: Callable[[], None],
        pace: KeyPace,
        sight: Sight,
    ) -> None:
        """``handle`` does what is chosen, ``give_keys`` gives the keys to the composer."""
        super().__init__()
        self._handle = handle
        self._give_keys = give_keys
        self.plan = PlanPanel(id="plan")
        self.queue = QueueList(id="queue")
        self.queue.pace, self.queue.standing.sight = pace, sight

    def compose(self) -> ComposeResult:
        """Yield the panels."""
        yield self.plan
        yield self.queue

    @property
    def rows(self) -> int:
        """The rows that the panels take if there is room."""
        return self.plan.rows + self.queue.rows

    @property
    def stands(self) -> bool:
        """True while one of the panels has something to show."""
        return self.plan.has_class("-open") or self.queue.has_class("-any")

    @on(QueueList.Changed)
    @on(QueueList.Moved)
    def _decided(self, event: QueueList.Changed | QueueList.Moved) -> None:
        event.stop()
        self._handle(event)

    def on_queue_list_mistyped(self, event: QueueList.Mistyped) -> None:
        """Say why a key did nothing."""
        event.stop()
        self.post_message(QuestionColumn.HintPosted(event.text))

    def on_queue_list_left(self, event: QueueList.Left) -> None:
        """Focus the composer."""
        event.stop()
        self._give_keys()
