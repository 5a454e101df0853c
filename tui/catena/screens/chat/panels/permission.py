"""The permission panel: an agent's question with its own options in its own order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from catena.terminal.key_pace import KeyPace
from catena.text.safe_text import safe_line
from catena.widgets.band import Band, BandWords, Choice
from catena.widgets.change_preview import diffs_of
from catena.widgets.text_fields import SafeInput
from catena_acp.continuity.counts import counted

if TYPE_CHECKING:  # not needed before there is a question
    from catena.transcript.widget.subject_block import SubjectBlock
    from catena_acp.continuity.conversation_events import PermissionOpened
    from catena_acp.session_events import PermissionOption, ToolCallChanged


_TOO_FAST = "Press again to confirm."
_DIFF, _REASON = "d", "r"
_WORDS = {
    "read": "Allow reading {}?",
    "edit": "Allow the edit of {}?",
    "delete": "Allow deleting {}?",
    "move": "Allow moving {}?",
    "search": "Allow searching {}?",
    "execute": "Allow running {}?",
    "fetch": "Allow fetching {}?",
    "rewind": "Allow the rewind {}?",
}
_ANY_TITLE = frozenset({"execute", "rewind"})  # their titles need not begin with a verb
_ABOUT_FILES = frozenset({"read", "edit", "delete", "move"})


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
        display: none;
        &.-asked { display: block; }
        & Input { display: none; border: none; height: 1; padding: 0; background: transparent; }
        &.-reason Input { display: block; }
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

        def __init__(self, ask: PermissionOpened, directory: str) -> None:
            super().__init__()
            self.ask = ask
            self.directory = directory  # paths below it are shown relative to it

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
        self._directory = ""
        self._subject: SubjectBlock | None = None  # made for the first request
        self.pace = KeyPace()  # of the keys, wherever they went
        self._field = SafeInput(placeholder="Reason (sent as your next prompt)", compact=True)
        self._field.cursor_blink = False
        self._band = Band("asking", self._field, id="asked")

    def compose(self) -> ComposeResult:
        """Yield the question with its options and the field for a reason; its subject is mounted above later."""
        yield self._band

    @property
    def ask(self) -> PermissionOpened | None:
        """The permission request that is shown."""
        return self._ask

    @property
    def giving_reason(self) -> bool:
        """True while a reason is being typed."""
        return self.has_class("-reason")

    def show(self, asks: Sequence[PermissionOpened], *, directory: str = "") -> None:
        """Show the first of the open requests, or nothing; paths below ``directory`` are shown relative to it."""
        ask = asks[0] if asks else None
        changed = ask != self._ask
        if not changed and len(asks) == self._waiting:
            return
        before, self._ask, self._waiting, self._directory = self._ask, ask, len(asks), directory
        self.set_class(ask is not None, "-asked")
        if changed:
            if before is not None and self.reason:
                self.post_message(self.ReasonLeft(before, self.reason))
            self.remove_class("-reason")
            self.take_reason()
            self._show_subject()
        self._lay_out()

    def _show_subject(self) -> None:
        """Show what the request is about: the change, the command, the places."""
        if self._ask is None:
            return
        if self._subject is None:
            from catena.transcript.widget.subject_block import SubjectBlock

            self._subject = SubjectBlock(self._ask.tool_call, self._directory)
            self.mount(self._subject, before=self._band)
        else:
            self._subject.show(self._ask.tool_call, self._directory)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Say how to get here while keys do not answer."""
        super().watch_has_focus(has_focus)
        self._lay_out()

    def _lay_out(self) -> None:
        if (ask := self._ask) is not None:
            reason = self.giving_reason
            self._band.text.show(
                BandWords(
                    _question(ask.tool_call, self._directory),
                    note="" if not reason else "Rejected with this reason:",
                    choices=() if reason else tuple(self._choices(ask)),
                    right=tuple(self._beside()),
                )
            )

    def _beside(self) -> Iterator[Choice]:
        """What stands beside the question: how many wait, the key of the full diff, how to get here."""
        if self._waiting > 1:
            yield Choice("", "", f"1 of {self._waiting}")
        if self.has_change:
            yield Choice(_DIFF, "d", "full diff")
        if not (self.has_focus or self.giving_reason):
            yield Choice("", "tab", "to answer")

    def _choices(self, ask: PermissionOpened) -> Iterator[Choice]:
        """The agent's options in the agent's order, and a rejection with a reason."""
        for number, option in enumerate(ask.options, start=1):
            letter = {"allow_once": "y", "reject_once": "n"}.get(option.kind, "")
            letter = letter if _first_of(ask.options, option.kind) is option else ""
            yield Choice(str(number), str(number), option.name, letter)
        if self.can_be_rejected:
            yield Choice(_REASON, "r", "Reject with a reason")

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
            self.post_message(self.DiffWanted(self._ask, self._directory))

    def action_reason(self) -> None:
        """Let the person type a reason for rejecting."""
        if self._ask is not None and _first_rejection(self._ask.options) is not None:
            self.add_class("-reason")
            self.screen.set_focus(self._field)
            self._lay_out()

    def on_band_chosen(self, event: Band.Chosen) -> None:
        """Treat a click on an option as its key; a click beside the options focuses the panel."""
        event.stop()
        match event.name:
            case "d":
                self.action_diff()
            case "r":
                self.action_reason()
            case "" if not self.giving_reason:
                self.screen.set_focus(self)
            case "":
                pass
            case number:
                self.action_choose(int(number))

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
        self._lay_out()

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


def _question(call: ToolCallChanged, directory: str) -> str:
    """The question in one sentence: about the files of the call, else in the agent's words."""
    from catena.transcript.messages.tool_call import relative, without_verb

    kind, title = call.kind or "", safe_line(call.title or "").strip()
    words, named = _WORDS.get(kind, ""), without_verb(title, kind)
    paths = [diff.path for diff in diffs_of(call)] or [place.path for place in call.locations or ()]
    if kind in _ABOUT_FILES and paths:
        named = relative(paths[0], directory)
        if others := len(set(paths)) - 1:
            named += f" and {counted(others, 'other file')}"
    elif not words or not named or (kind not in _ANY_TITLE and named == title and " " in title):
        return f"Allow this: {title.removesuffix('?')}?" if title else "Allow this tool call?"
    return words.format(named.removesuffix("?"))


def _first_of(options: Sequence[PermissionOption], kind: str) -> PermissionOption | None:
    return next((option for option in options if option.kind == kind), None)


def _first_rejection(options: Sequence[PermissionOption]) -> PermissionOption | None:
    return _first_of(options, "reject_once") or _first_of(options, "reject_always")
