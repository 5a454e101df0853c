"""What is on the chat screen, which part of it has the keys, and the hints that belong there."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from catena.widgets.completion_list import CompletionList
from catena.widgets.composer import Composer
from catena.widgets.conversation_area import ConversationArea
from catena.widgets.find_bar import FindBar
from catena.widgets.hint_line import HintLine
from catena.widgets.permission_panel import PermissionPanel
from catena.widgets.plan_panel import PlanPanel
from catena.widgets.queue_list import QueueList
from catena.widgets.status_line import Status, StatusLine
from catena.widgets.tab_bar import TabBar

_HINTS = {
    "composer": (
        "enter send",
        "ctrl+j newline",
        "/ commands",
        "ctrl+o history",
        "shift+tab browse",
        "f1 help",
    ),
    "busy": ("enter queue", "esc stop", "ctrl+j newline", "/ commands", "shift+tab browse", "f1 help"),
    "completing": ("↑ ↓ choose", "tab complete", "enter do it", "esc close"),
    "browsing": (
        "j k message",
        "J K prompt",
        "enter fold",
        "y copy",
        "Y code",
        "q quote",
        "esc back",
        "f1 help",
    ),
    "question": ("1–9 y n answer", "d the change", "r reject with a reason", "esc leave it open"),
    "reason": ("enter reject and send this", "esc back"),
    "finding": ("enter ↓ next", "↑ previous", "esc close"),
}


class ChatLayout(Screen[None], inherit_bindings=False):
    """The parts of the chat screen, without what they do."""

    AUTO_FOCUS = "Composer"

    def __init__(self, directory: str, *, still: bool) -> None:
        """``still``: nothing on it turns."""
        super().__init__()
        self.still = still
        self.tab_bar = TabBar(directory, id="tabs")
        self.conversation = ConversationArea(id="conversation")
        self.find_bar = FindBar(id="find")
        self.plan = PlanPanel(id="plan")
        self.queue = QueueList(id="queue")
        self.permission = PermissionPanel(id="permission")
        self.completion = CompletionList(id="completions")
        self.composer = Composer(id="composer")
        self.hints = HintLine(id="hints")
        self.status = StatusLine(still=still, id="status")

    def compose(self) -> ComposeResult:
        """Everything but the transcript, which the first frame does not need."""
        yield self.tab_bar
        yield self.conversation
        yield self.find_bar
        yield self.plan
        yield self.queue
        yield self.permission
        yield self.completion
        with Horizontal(id="writing"):
            yield Static("> ", id="sign", markup=False)
            yield self.composer
        yield self.hints
        yield self.status

    def on_mount(self) -> None:
        """Hints are there from the first frame on."""
        self.hints.hint(*_HINTS["composer"])
        self.status.show(Status("catena"))

    @property
    def place(self) -> str:
        """What has the keys: composer, browsing, question, reason, finding."""
        focused = self.focused
        if focused is None or focused is self.composer:
            return "composer"
        if focused is self.permission:
            return "question"
        if self.permission in focused.ancestors:
            return "reason"
        return "finding" if self.find_bar in focused.ancestors else "browsing"

    def hint(self, *, busy: bool) -> None:
        """Say what the keys do in the place that has them; ``busy`` while the agent works."""
        place = self.place
        if place == "composer" and self.completion.is_open:
            place = "completing"
        elif place == "composer" and busy:
            place = "busy"
        self.hints.hint(*_HINTS[place])
