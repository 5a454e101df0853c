"""The conversation, and the panels at its end and above the composer once the store is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from catena.screens.chat.conversation_area import ConversationArea

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.screens.chat.area.panel_columns import QuestionColumn, StandingColumn
    from catena.screens.chat.commands.dispatch import ChatEvent
    from catena.screens.chat.panels.elicitation import ElicitationPanel
    from catena.screens.chat.panels.fork import ForkPanel
    from catena.screens.chat.panels.permission import PermissionPanel
    from catena.screens.chat.panels.plan import PlanPanel
    from catena.screens.chat.panels.queue import QueueList
    from catena.screens.chat.panels.trouble import TroublePanel
    from catena.terminal.times import KeyPace, Sight
    from catena_acp.continuity.conversation_events import Question


class PanelStack(Vertical):
    """The conversation and the panels of one chat.

    While a question or a trouble is open, it stands right below the end of the conversation, which takes no more rows
    than it has; plan and queue stand above the composer.
    """

    DEFAULT_CSS = """
    PanelStack { height: 1fr; }
    """

    def __init__(
        self,
        *,
        handle: Callable[[ChatEvent], None],
        conversation: ConversationArea,
        composer: Widget,
        pace: KeyPace,
        sight: Sight,
        heeds_clicks: Callable[[], bool],
        id: str | None = None,
    ) -> None:
        """``handle`` handles keys and clicks in the panels; ``composer`` gets the focus after a decision.

        A click chooses an option only where ``heeds_clicks``.
        """
        super().__init__(id=id)
        self.conversation = conversation
        self._handle = handle
        self._composer = composer
        self._pace = pace
        self._sight = sight
        self._heeds_clicks = heeds_clicks
        self._columns: tuple[QuestionColumn, StandingColumn] | None = None

    def compose(self) -> ComposeResult:
        """Yield the conversation; the panels come when they are opened."""
        yield self.conversation

    async def open(self) -> None:
        """Mount the panels, each of which is hidden until it has content."""
        from catena.screens.chat.area.panel_columns import QuestionColumn, StandingColumn

        questions = QuestionColumn(
            handle=self._handle,
            give_keys=self._give_keys,
            changed=self.fit,
            rows=self._rows,
            pace=self._pace,
            sight=self._sight,
            heeds_clicks=self._heeds_clicks,
        )
        standing = StandingColumn(
            handle=self._handle, give_keys=self._give_keys, pace=self._pace, sight=self._sight
        )
        self._columns = questions, standing
        if self.is_attached:  # the app may end meanwhile
            await self.mount(questions, standing)

    @property
    def _questions(self) -> QuestionColumn:
        assert self._columns is not None, "the panels are open"
        return self._columns[0]

    @property
    def _standing(self) -> StandingColumn:
        assert self._columns is not None, "the panels are open"
        return self._columns[1]

    @property
    def permission(self) -> PermissionPanel:
        """The panel of permission requests."""
        return self._questions.permission

    @property
    def elicitation(self) -> ElicitationPanel:
        """The panel of forms and web pages."""
        return self._questions.elicitation

    @property
    def trouble(self) -> TroublePanel:
        """The panel of what failed."""
        return self._questions.trouble

    @property
    def fork(self) -> ForkPanel:
        """The panel of the question before a fork."""
        return self._questions.fork

    @property
    def plan(self) -> PlanPanel:
        """The agent's plan."""
        return self._standing.plan

    @property
    def queue(self) -> QueueList:
        """The prompts that wait."""
        return self._standing.queue

    @property
    def standing(self) -> bool:
        """True while the plan or the queue stands above the composer."""
        return self._columns is not None and self._standing.stands

    @property
    def question(self) -> Question | None:
        """The open question of the agent that is shown."""
        return None if self._columns is None else self._questions.question

    @property
    def troubled(self) -> bool:
        """True while something can be done about a trouble."""
        return self._columns is not None and self.trouble.can_act

    @property
    def giving_reason(self) -> str | None:
        """The id of the permission request for whose rejection a reason is being typed."""
        if self._columns is None or self.permission.ask is None or not self.permission.giving_reason:
            return None
        return self.permission.ask.ask_id

    def on_resize(self) -> None:
        """Give what is asked the rows that there are now."""
        if self._columns is not None and self._questions.is_attached:
            self._questions.lay_out()
            self.fit()

    def fit(self) -> None:
        """Give an open question the rows that it needs, before the conversation, the plan and the queue get any."""
        asks = self._columns is not None and self._questions.asks
        self.conversation.fit(asks)
        if self._columns is not None:
            taken = self._questions.size.height + self._standing.rows
            self._standing.set_class(asks and taken > self._rows(self.screen.size.height), "-crowded")

    def _rows(self, height: int) -> int:
        """The rows for what is asked on a screen of this height: one is the conversation's, but on a short screen."""
        from catena.widgets.band import SHORT  # not before the first frame

        return self.size.height - (height >= SHORT)

    def place_of(self, focused: Widget) -> str | None:
        """The place that a focused widget is in, such as question, form, trouble or queue; None if in no panel."""
        if self._columns is None:
            return None
        return "queue" if focused is self.queue else self._questions.place_of(focused)

    def enter(self) -> None:
        """Focus the agent's open question, else the trouble panel."""
        if self._columns is not None:
            self._questions.enter()

    def has_stood(self, now: float) -> bool:
        """True if the open question is answered by a key of now."""
        return self._questions.standing.holds(now)

    def stand_anew(self) -> None:
        """Let the open question stand from when it is in sight again."""
        self._questions.standing.changed()

    def focus_question(self) -> None:
        """Focus the agent's open question, or the field of its form that had the keys last."""
        self._questions.focus_question()

    def _give_keys(self) -> None:
        self.screen.set_focus(self._composer)
