"""The permission panel: an agent's question with its own options in its own order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message

from catena.keys.bindings import bindings, keys_of, with_own_keys
from catena.terminal.times import JUST_ASKED, KeyPace, Standing
from catena.widgets.band import SHORT, Band, BandWords, Choice
from catena.widgets.fields.text_fields import SafeInput
from catena.workspace.questions.permission_words import (
    STOP_IT,
    WITH_REASON,
    always_words,
    not_offered,
    note_words,
    question_words,
    subject_lines,
)
from catena_acp.permissions.options import option_of

if TYPE_CHECKING:  # not needed before there is a question
    from catena.transcript.widget.blocks import SubjectBlock
    from catena_acp.continuity.conversation_events import PermissionOpened, Question
    from catena_acp.permissions.rule import Rule
    from catena_acp.port.session_events import PermissionOption


_TOO_FAST = "Press again to confirm."
_NOTHING_TYPED = "You cannot type here: {stop} to decide later."
_NOT_ALL = "Not all of it is shown. {} shows the rest; press again to allow it unread."
_DIFF, _REASON, _ALWAYS = "d", "r", "a"
_MOST_NUMBERS = 9


class PermissionPanel(Vertical, can_focus=True):
    """The first open question of a tab. Only a key that names an option, or a click on it, chooses it."""

    # With the keys the answers move: a button held down must come up where it went down.
    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            **{f"option_{number}": f"press_number({number})" for number in range(1, 10)},
            allow="press_kind(True)",
            reject="press_kind(False)",
            always="press_always",
            narrower_rule="widen(-1)",
            wider_rule="widen(1)",
            diff="press_diff",
            reason="press_reason",
        )
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
        """The person chose an option; ``reason`` is their next prompt if they gave one.

        ``rule`` is to answer such requests from now on.
        """

        def __init__(
            self,
            ask: PermissionOpened,
            option: PermissionOption,
            reason: str = "",
            *,
            rule: Rule | None = None,
        ) -> None:
            super().__init__()
            self.rule = rule
            self.ask = ask
            self.option = option
            self.reason = reason

    class DiffWanted(Message):
        """The person wants to see the whole change, or all of a request without one."""

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

    def __init__(self, *, id: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._cut = False  # not all of what is asked is on the screen
        self._read: PermissionOpened | None = None  # in full, or allowed once though it was not
        self.standing = Standing(self, clock)
        self._ask: PermissionOpened | None = None
        self._waiting = 0
        self._directory = ""
        self._rules: tuple[Rule, ...] = ()  # that can be made of the request, the narrowest first
        self._rule_at = 0
        self._subject: SubjectBlock | None = None
        self.pace = KeyPace()  # of the keys, wherever they went
        self._field = SafeInput(placeholder="Reason (sent as your next prompt)", compact=True)
        self._field.cursor_blink = False
        # The question with its options and the field for a reason; mounted for the first request, below its subject.
        self.band = Band("asking", self._field, id="asked")

    @property
    def ask(self) -> PermissionOpened | None:
        """The permission request that is shown."""
        return self._ask

    @property
    def giving_reason(self) -> bool:
        """True while a reason is being typed."""
        return self.has_class("-reason")

    def show(self, asks: Sequence[Question], *, directory: str = "") -> None:
        """Show the first of the open questions if it is a request; paths below ``directory`` are relative to it."""
        from catena_acp.continuity.conversation_events import PermissionOpened

        first = asks[0] if asks else None
        ask = first if isinstance(first, PermissionOpened) else None
        changed = ask != self._ask
        if not changed and len(asks) == self._waiting:
            return
        before, self._ask, self._waiting, self._directory = self._ask, ask, len(asks), directory
        self.set_class(ask is not None, "-asked")
        if changed:
            self.standing.changed()
            if before is not None and self.reason:
                self.post_message(self.ReasonLeft(before, self.reason))
            self.remove_class("-reason")
            self.take_reason()
            self._show_subject()
            self._propose()
        self._lay_out()

    def _show_subject(self) -> None:
        """Show the change that the request is about."""
        if self._ask is None:
            return
        if self._subject is None:
            from catena.transcript.widget.blocks import SubjectBlock

            self._subject = SubjectBlock(self._ask.subject.diffs, self._directory)
            self.mount(self._subject, self.band)
        else:
            self._subject.show(self._ask.subject.diffs, self._directory)

    def _propose(self) -> None:
        """Find the rules that would have answered the request with its option for once."""
        self._rules, self._rule_at = (), 0
        if self._ask is None or option_of(self._ask.options, allow=True) is None:
            return
        from catena_acp.permissions.rule import first_choice, proposals

        self._rules = proposals(self._ask.subject)
        self._rule_at = first_choice(self._rules)

    @property
    def rule(self) -> Rule | None:
        """The rule that is offered; none on a screen too short to show all of its words."""
        if self._ask is None or not self._rules:
            return None
        rule = self._rules[self._rule_at]
        if self.screen.size.height >= SHORT:
            return rule
        return rule if self.band.text.shares(tuple(self._choices(self._ask, rule))) else None

    def on_resize(self) -> None:
        """Offer a rule, or no longer: there is another room for it."""
        self._lay_out()
        # Whether it is cut, and a rule has room, is known once the text has its room, which is after this.
        self.call_after_refresh(self._lay_out)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Say how to get here while keys do not answer."""
        super().watch_has_focus(has_focus)
        self._lay_out()

    def _lay_out(self) -> None:
        if (ask := self._ask) is not None:
            reason = self.giving_reason
            words = BandWords(
                question_words(ask.subject),
                about=tuple(subject_lines(ask.subject, self._directory)),
                note="Reject, because:" if reason else self._note(ask),
                choices=() if reason else tuple(self._choices(ask, self.rule)),
                right=tuple(self._beside()),
                note_in_short=True,
            )
            if not self.has_change and self._is_cut(words):
                words = replace(words, right=(*words.right, self._full("in full")))
            self.band.text.show(words)
            if self._subject is not None and self._subject.size.width:
                rows = self.band.rows(self.screen.size.height)
                self._subject.leave_room(self.band.height_in(self.size.width), of=rows)
            # Nobody has read what is not laid out yet.
            self._cut = not self.band.text.content_size.width or self._is_cut(words)

    def _note(self, ask: PermissionOpened) -> str:
        """That there is no answer, else what is to be known of the question."""
        if not ask.options:
            return STOP_IT
        return " · ".join(note_words(ask))

    def _is_cut(self, words: BandWords) -> bool:
        """True where not all of what is asked is on the screen."""
        width = self.band.text.content_size.width
        if not width:  # it is about to be laid out
            return False
        return self.band.text.cuts(words) or (
            self._subject is not None and self._subject.cuts(self.size.width)
        )

    def _full(self, words: str) -> Choice:
        return Choice(_DIFF, keys_of(self).shown("diff"), words)

    def _beside(self) -> Iterator[Choice]:
        """What stands beside the question: how many wait, the key of the full diff, how to get here."""
        if self._waiting > 1:
            yield Choice("", "", f"question 1 of {self._waiting}")
        if self.has_change:
            yield self._full("full diff")
        if not (self.has_focus or self.giving_reason):
            yield Choice("", keys_of(self).shown("complete"), "to answer")

    def _choices(self, ask: PermissionOpened, rule: Rule | None) -> Iterator[Choice]:
        """The agent's options in the agent's order, and a rejection with a reason."""
        keys = keys_of(self)
        allowing, rejecting = (option_of(ask.options, allow=allow) for allow in (True, False))
        for number, option in enumerate(ask.options, start=1):
            letter = "allow" if option is allowing else "reject" if option is rejecting else ""
            letter = keys.shown(letter) if letter else ""
            key = keys.shown(f"option_{number}") if number <= _MOST_NUMBERS else ""
            yield Choice(str(number), key, option.name, letter)
        if rule is not None:
            others = keys.fill("{narrower_rule} {wider_rule} scope") if len(self._rules) > 1 else ""
            yield Choice(
                _ALWAYS,
                keys.shown("always"),
                always_words(rule),
                price=others,
                whole=True,
            )
        if self.can_be_rejected:
            yield Choice(_REASON, keys.shown("reason"), WITH_REASON, short="Reason")

    def action_choose(self, number: int) -> None:
        """Take the option with this number."""
        if self._ask is not None and number <= len(self._ask.options):
            self.post_message(self.Answered(self._ask, self._ask.options[number - 1]))

    def action_press_number(self, number: int) -> None:
        """Take the option with this number, if its key was meant for itself."""
        if self._is_meant():
            self._choose_read(number)

    def _choose_read(self, number: int) -> None:
        """Take the option with this number, unless it allows what is not all on the screen."""
        options = self._ask.options if self._ask else ()
        rejects = number <= len(options) and options[number - 1].kind.startswith("reject")
        if rejects or self._is_read():
            self.action_choose(number)

    def action_press_kind(self, allow: bool) -> None:
        """Allow or reject the request for once, if the key was meant for itself."""
        if self._is_meant():
            self._take_kind(allow=allow)

    def action_press_always(self) -> None:
        """Allow the request, and such requests from now on, if the key was meant for itself."""
        if self._is_meant():
            self._take_rule()

    def _take_rule(self) -> None:
        if self._ask is None:
            return
        option, rule = option_of(self._ask.options, allow=True), self.rule
        if option is None or rule is None:
            self.post_message(self.Mistyped(self._why_no_rule(self._ask, option)))
        elif self._is_read():
            self.post_message(self.Answered(self._ask, option, rule=rule))

    def _why_no_rule(self, ask: PermissionOpened, option: PermissionOption | None) -> str:
        from catena_acp.permissions.rule import no_rule_words

        if option is None:
            return not_offered(ask.options, allow=True)
        return "The screen is too small to show a rule whole." if self._rules else no_rule_words(ask.subject)

    def action_widen(self, step: int) -> None:
        """Offer the next wider or narrower rule."""
        if self._rules and not self.giving_reason:
            self._rule_at = min(max(0, self._rule_at + step), len(self._rules) - 1)
            self._lay_out()

    def _is_meant(self) -> bool:
        """False for a letter of a word: it may have been typed before the request was shown."""
        if self.giving_reason or not self._stands(self.pace.read_at or self._clock()):
            return False
        if not self.pace.alone:
            self.post_message(self.Mistyped(_TOO_FAST))
        return self.pace.alone

    def _begins(self) -> bool:
        """False for a letter in a word; what comes behind it may be the reason, in the same write."""
        if not self.pace.begins:
            self.post_message(self.Mistyped(_TOO_FAST))
        return self.pace.begins

    def _is_read(self) -> bool:
        """False, once, if not all of what is asked could be shown and the person has not opened the rest."""
        if self._ask is None or not self._cut or self._read is self._ask:
            return True
        self._read = self._ask
        self.post_message(self.Mistyped(_NOT_ALL.format(keys_of(self).shown("diff"))))
        return False

    def _stands(self, pressed_at: float) -> bool:
        """False for a key or a click that may be meant for what stood there before the question as it is."""
        stands = self.standing.holds(pressed_at)
        if not stands:
            self.post_message(self.Mistyped(JUST_ASKED))
        return stands

    def _take_kind(self, *, allow: bool) -> None:
        """Take the option that allows or rejects for once, if there is one such."""
        if self._ask is None:
            return
        option = option_of(self._ask.options, allow=allow)
        if option is None:
            self.post_message(self.Mistyped(not_offered(self._ask.options, allow=allow)))
        elif not allow or self._is_read():
            self.post_message(self.Answered(self._ask, option))

    @property
    def has_change(self) -> bool:
        """True if the request is about a change of files."""
        return self._ask is not None and bool(self._ask.subject.diffs)

    @property
    def _rejection(self) -> PermissionOption | None:
        """The option by which the request is rejected with a reason."""
        return option_of(self._ask.options, allow=False, lasting=True) if self._ask else None

    @property
    def can_be_rejected(self) -> bool:
        """True if the agent offers one option to reject."""
        return self._rejection is not None

    def action_press_diff(self) -> None:
        """Show all of what is asked, unless the key was part of a word."""
        if self._begins():
            self.action_diff()

    def action_press_reason(self) -> None:
        """Let the person type a reason for rejecting, unless the key was part of a word."""
        if self._stands(self.pace.read_at or self._clock()) and self._begins():
            self.action_reason()

    def action_diff(self) -> None:
        """Show the whole change, or all of the request."""
        if self._ask is not None:
            self._read = self._ask
            self.post_message(self.DiffWanted(self._ask, self._directory))

    def action_reason(self) -> None:
        """Let the person type a reason for rejecting."""
        if self.can_be_rejected:
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
            case "a":
                if self._stands(self._clock()):
                    self._take_rule()
            case "" if not self.giving_reason:
                self.screen.set_focus(self)
            case "":
                pass
            case number:
                if self._stands(self._clock()):
                    self._choose_read(int(number))

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
        option = self._rejection
        if self._ask is not None and option is not None:
            self.post_message(self.Answered(self._ask, option, event.value.strip()))

    def on_key(self, event: events.Key) -> None:
        """Swallow letters without a binding: they must not be typed elsewhere."""
        if self.giving_reason or not (event.is_printable or event.key == "enter"):
            return
        event.prevent_default()
        ((_, in_effect),) = with_own_keys([(self, self._bindings)], keys_of(self))
        if event.key not in in_effect.key_to_bindings:
            self.post_message(self.Mistyped(keys_of(self).said(_NOTHING_TYPED)))
