"""The permission panel: an agent's question with its own options in its own order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from catena.terminal.key_pace import KeyPace
from catena.text.safe_text import safe_line
from catena.widgets.change_preview import diffs_of, preview
from catena.widgets.text_fields import SafeInput

if TYPE_CHECKING:  # not needed before there is a question
    from catena_acp.continuity.conversation_events import PermissionOpened
    from catena_acp.session_events import PermissionOption


_TOO_FAST = "Press again to confirm."
_KEY = "key"  # what a click on an answer says in its place
_ACTS = {
    "read": ("Read", "reading"),
    "edit": ("Edit", "the edit of"),
    "delete": ("Delete", "deleting"),
    "move": ("Move", "moving"),
    "search": ("Search", "searching"),
    "execute": ("Run", "running"),
    "fetch": ("Fetch", "fetching"),
    "rewind": ("", "the rewind"),
}


class PermissionPanel(Vertical, can_focus=True):
    """The first open question of a tab. Only a key that names an option, or a click on it, chooses it."""

    # With the keys the answers move: a button held down must come up where it went down.
    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"press_number({number})", show=False) for number in range(1, 10)),
        Binding("y", "press_kind('allow_once')", "allow once", id="permission.allow"),
        Binding("n", "press_kind('reject_once')", "reject once", id="permission.reject"),
        Binding("d", "diff", "full diff", id="permission.diff"),
        Binding("r", "reason", "reject with a reason", id="permission.reason"),
    ]
    DEFAULT_CSS = """
    PermissionPanel {
        height: auto;
        max-height: 60vh;
        display: none;
        border-top: solid $asking;
        padding: 0 1;
        &.-asked { display: block; }
        &:focus-within { border-top: solid $asking; }
        & > Static { height: auto; }
        & > #preview { max-height: 12; color: $muted; }
        & > Input { display: none; border: none; height: 1; padding: 0; background: transparent; }
        &.-reason > Input { display: block; }
    }
    """

    class Answered(Message):
        """The person chose an option; ``reason`` is their next prompt if they gave one."""

        def __init__(self, ask: PermissionOpened, option: PermissionOption, reason: str = "") -> None:
            super().__init__()
            self.ask = ask
            self.option = option
            self.reason = reason

    class DiffWanted(Message):
        """The person wants to see the whole change."""

        def __init__(self, ask: PermissionOpened) -> None:
            super().__init__()
            self.ask = ask

    class ReasonLeft(Message):
        """The request was closed while a reason was being typed."""

        def __init__(self, ask: PermissionOpened, text: str) -> None:
            super().__init__()
            self.ask = ask
            self.text = text

    class Mistyped(Message):
        """A text about a key without a meaning here."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ask: PermissionOpened | None = None
        self._waiting = 0
        self._lit = False  # its keys answer
        self.pace = KeyPace()  # of the keys, wherever they went
        self._field = SafeInput(placeholder="Reason (sent as your next prompt)", compact=True)
        self._field.cursor_blink = False

    def compose(self) -> ComposeResult:
        """Yield the request, its subject, the options, and a field for a reason."""
        yield Static(id="question", markup=False)
        yield Static(id="preview", markup=False)
        yield Static(id="options", markup=False)
        yield self._field

    @property
    def ask(self) -> PermissionOpened | None:
        """The permission request that is shown."""
        return self._ask

    @property
    def giving_reason(self) -> bool:
        """True while a reason is being typed."""
        return self.has_class("-reason")

    def show(self, asks: Sequence[PermissionOpened]) -> None:
        """Show the first of the open requests, or nothing."""
        ask = asks[0] if asks else None
        changed = ask != self._ask
        if not changed and len(asks) == self._waiting:
            return
        before, self._ask, self._waiting = self._ask, ask, len(asks)
        self.set_class(ask is not None, "-asked")
        if changed:
            if before is not None and self.reason:
                self.post_message(self.ReasonLeft(before, self.reason))
            self.remove_class("-reason")
            self.take_reason()
        if ask is not None:
            self.query_one("#question", Static).update(self._question(ask))
            self.query_one("#preview", Static).update(preview(ask.tool_call))
            self.query_one("#options", Static).update(self._options(ask))

    def on_focus(self) -> None:
        """Light the options: keys answer now."""
        self._light(True)

    def on_blur(self) -> None:
        """Dim the options: keys do not answer."""
        self._light(False)

    def _light(self, lit: bool) -> None:
        self._lit = lit
        if self._ask is not None:
            self.query_one("#options", Static).update(self._options(self._ask))

    def _question(self, ask: PermissionOpened) -> Content:
        call = ask.tool_call
        count = f"   1 of {self._waiting}" if self._waiting > 1 else ""
        return Content.assemble(
            ("? ", "$asking"), (_question(call.kind or "", call.title or ""), "bold"), (count, "$muted")
        )

    def _options(self, ask: PermissionOpened) -> Content:
        lit = self._lit
        pieces = [] if lit else [Content.styled("tab to answer", "$asking")]
        for number, option in enumerate(ask.options, start=1):
            name = safe_line(option.name)
            letter = {"allow_once": " y", "reject_once": " n"}.get(option.kind, "")
            letter = letter if _first_of(ask.options, option.kind) is option else ""
            key = Content.styled(f"{number}{letter}", "$accent" if lit else "$faint")
            pieces.append(_clicked_as(str(number), key, f" {name}"))
        if diffs_of(ask.tool_call):
            key = Content.styled("d", "$accent" if lit else "$faint")
            pieces.append(_clicked_as("d", key, " full diff"))
        if _first_rejection(ask.options) is not None:
            key = Content.styled("r", "$accent" if lit else "$faint")
            pieces.append(_clicked_as("r", key, " reject with a reason"))
        return _packed(pieces, self.size.width - 2)

    def on_resize(self) -> None:
        """Pack the options for the new width; none is broken over two lines."""
        self._light(self._lit)

    def action_choose(self, number: int) -> None:
        """Take the option with this number."""
        if self._ask is not None and number <= len(self._ask.options):
            self.post_message(self.Answered(self._ask, self._ask.options[number - 1]))

    def action_press_number(self, number: int) -> None:
        """Take the option with this number, if its key was meant for itself."""
        if self._is_meant():
            self.action_choose(number)

    def action_press_kind(self, kind: str) -> None:
        """Take the first option of this kind, if its key was meant for itself."""
        if self._is_meant():
            self._take_kind(kind)

    def _is_meant(self) -> bool:
        """False for a letter of a word: it may have been typed before the request was shown."""
        if self.giving_reason:
            return False
        if not self.pace.alone:
            self.post_message(self.Mistyped(_TOO_FAST))
        return self.pace.alone

    def _take_kind(self, kind: str) -> None:
        """Take the first option of this kind, if there is one."""
        if self._ask is None:
            return
        option = _first_of(self._ask.options, kind)
        if option is None:
            self.post_message(self.Mistyped("Not offered. Press one of the numbers."))
        else:
            self.post_message(self.Answered(self._ask, option))

    @property
    def has_change(self) -> bool:
        """True if the request is about a change of files."""
        return self._ask is not None and bool(diffs_of(self._ask.tool_call))

    @property
    def can_be_rejected(self) -> bool:
        """True if the agent offers an option to reject."""
        return self._ask is not None and _first_rejection(self._ask.options) is not None

    def action_diff(self) -> None:
        """Show the whole change."""
        if self._ask is not None and diffs_of(self._ask.tool_call):
            self.post_message(self.DiffWanted(self._ask))

    def action_reason(self) -> None:
        """Let the person type a reason for rejecting."""
        if self._ask is not None and _first_rejection(self._ask.options) is not None:
            self.add_class("-reason")
            self.screen.set_focus(self._field)

    def on_click(self, event: events.Click) -> None:
        """Treat a click on an answer as its key; a click beside the answers focuses the panel."""
        match event.style.meta.get(_KEY):
            case "d":
                self.action_diff()
            case "r":
                self.action_reason()
            case str(number):
                self.action_choose(int(number))
            case _ if not self.giving_reason:
                self.screen.set_focus(self)

    @property
    def reason(self) -> str:
        """The reason that is being typed, or is not handled yet."""
        return self._field.value.strip() if self.giving_reason else ""

    def take_reason(self) -> None:
        """Clear the reason: the handler of the answer has it."""
        self._field.value = ""

    def drop_reason(self) -> None:
        """Go back from the reason to the options."""
        self.remove_class("-reason")
        self.screen.set_focus(self)

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Answer with the finished reason."""
        event.stop()
        option = _first_rejection(self._ask.options) if self._ask else None
        if self._ask is not None and option is not None:
            self.post_message(self.Answered(self._ask, option, event.value.strip()))

    def on_key(self, event: events.Key) -> None:
        """Swallow letters without a binding: they must not be typed elsewhere."""
        if event.is_printable and not self.giving_reason:
            event.prevent_default()


def _clicked_as(key: str, shown: Content, does: str) -> Content:
    """A clickable key with its action."""
    return Content.assemble(shown, does).stylize(Style.from_meta({_KEY: key}))


def _packed(pieces: Sequence[Content], width: int) -> Content:
    """The pieces in as many lines as they need, each in one of them."""
    lines: list[Content] = []
    for piece in pieces:
        if lines and lines[-1].cell_length + 3 + piece.cell_length <= width:
            lines[-1] = Content.assemble(lines[-1], "   ", piece)
        else:
            lines.append(piece)
    return Content("\n").join(lines)


def _first_of(options: Sequence[PermissionOption], kind: str) -> PermissionOption | None:
    return next((option for option in options if option.kind == kind), None)


def _first_rejection(options: Sequence[PermissionOption]) -> PermissionOption | None:
    return _first_of(options, "reject_once") or _first_of(options, "reject_always")


def _question(kind: str, title: str) -> str:
    """The question for a tool call: `Allow the edit of notes.txt?`; the agent's title as it is where it has no verb."""
    title, (verb, act) = safe_line(title).strip(), _ACTS.get(kind, ("", ""))
    subject = title.removeprefix(f"{verb} ") if verb else title
    if not act or (subject == title and " " in title and kind not in ("execute", "rewind")):
        return f"Allow this: {title}?" if title else "Allow this tool call?"
    return f"Allow {act} {subject}?" if subject else f"Allow {act.removesuffix(' of')}?"
