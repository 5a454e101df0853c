"""What is on the chat screen, which part of it has the keys, and the hints that belong there."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from catena.widgets.attachment_bar import AttachmentBar
from catena.widgets.branch_panel import BranchPanel
from catena.widgets.completion_list import CompletionList
from catena.widgets.composer import Composer
from catena.widgets.conversation_area import ConversationArea
from catena.widgets.edit_panel import EditPanel
from catena.widgets.find_bar import FindBar
from catena.widgets.hint_line import HintLine
from catena.widgets.lineage_line import LineageLine
from catena.widgets.permission_panel import PermissionPanel
from catena.widgets.plan_panel import PlanPanel
from catena.widgets.queue_list import QueueList
from catena.widgets.status_line import Status, StatusLine
from catena.widgets.tab_bar import TabBar
from catena.widgets.trouble_panel import TroublePanel

_HINTS = {
    "composer": (
        "enter send",
        "ctrl+j newline",
        "/ commands",
        "esc esc edit",
        "ctrl+o history",
        "shift+tab browse",
        "f1 help",
    ),
    "busy": ("enter queue", "esc stop", "ctrl+j newline", "/ commands", "shift+tab browse", "f1 help"),
    "completing": ("↑ ↓ choose", "tab complete", "enter do it", "esc close"),
    "browsing": (
        "j k message",
        "J K prompt",
        "e edit",
        "r again",
        "f F fork",
        "h l version",
        "enter fold",
        "y copy",
        "esc back",
        "f1 help",
    ),
    "choosing": ("↑ ↓ choose a prompt", "enter edit it", "r again", "f F fork", "esc back"),
    "branch": ("enter do it", "esc leave it"),
    "editing": ("enter send", "esc your draft back", "ctrl+j newline", "f1 help"),
    "editing_busy": ("enter stops the turn and sends", "esc your draft back", "ctrl+j newline", "f1 help"),
    "question": ("1–9 y n answer", "d the change", "r reject with a reason", "esc leave it open"),
    "trouble": ("the letters choose", "esc back to the composer, again: put it away"),
    "queue": ("↑ ↓ choose", "J K move", "enter change", "d delete", "s send now", "esc back"),
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
        self.lineage = LineageLine(id="lineage")
        self.conversation = ConversationArea(id="conversation")
        self.find_bar = FindBar(id="find")
        self.plan = PlanPanel(id="plan")
        self.queue = QueueList(id="queue")
        self.permission = PermissionPanel(id="permission")
        self.trouble = TroublePanel(id="trouble")
        self.branch = BranchPanel(id="branch")
        self.edit = EditPanel(id="edit")
        self.attached = AttachmentBar(id="attached")
        self.completion = CompletionList(id="completions")
        self.composer = Composer(id="composer")
        self.hints = HintLine(id="hints")
        self.status = StatusLine(still=still, id="status")

    def compose(self) -> ComposeResult:
        """Everything but the transcript, which the first frame does not need."""
        yield self.tab_bar
        yield self.lineage
        yield self.conversation
        yield self.find_bar
        yield self.plan
        yield self.queue
        yield self.permission
        yield self.trouble
        yield self.branch
        yield self.edit
        yield self.attached
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
        """What has the keys: composer, browsing, choosing, branch, question, reason, trouble, queue, finding."""
        focused = self.focused
        if focused is None or focused is self.composer:
            return "composer"
        if focused is self.permission:
            return "question"
        if focused is self.trouble:
            return "trouble"
        if focused is self.queue:
            return "queue"
        if focused is self.branch:
            return "branch"
        if self.permission in focused.ancestors:
            return "reason"
        if self.find_bar in focused.ancestors:
            return "finding"
        return "choosing" if self.conversation.choosing else "browsing"

    def hint(self, *, busy: bool) -> None:
        """Say what the keys do in the place that has them; ``busy`` while the agent works."""
        place = self.place
        if place == "composer" and self.completion.is_open:
            place = "completing"
        elif place == "composer" and self.edit.open:
            place = "editing_busy" if self.edit.stops_a_turn else "editing"
        elif place == "composer" and busy:
            place = "busy"
        hints = _HINTS[place]
        if place == "question":
            absent = {
                "d the change": not self.permission.has_change,
                "r reject with a reason": not self.permission.can_be_rejected,
            }
            hints = tuple(hint for hint in hints if not absent.get(hint))
        self.hints.hint(*hints)
