"""Attention of the person while they are elsewhere: desktop notifications, and the title of the terminal's window."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from catena.terminal.control.replies import Reply
from catena.terminal.control.sequences import (
    Notification,
    NotificationForm,
    form_by_environment,
    form_by_reply,
    notification_sequence,
)
from catena.text.safe_text import safe_line

# Seconds of a turn after which its person has gone, where the terminal does not tell its focus.
PATIENCE = 10.0
_REMEMBERED = 64  # events that were told of


class Attention:
    """Calls the person, once for each event, in the form of the setting or the one that the terminal shows."""

    def __init__(
        self, setting: NotificationForm, environment: Mapping[str, str], send: Callable[[str], None]
    ) -> None:
        """``send`` writes to the terminal past the screen."""
        self._environment = environment
        self._send = send
        self._reply: Reply | None = None  # the last one that told of a form
        self.use(setting)
        self._focused: bool | None = None
        self._told: deque[str] = deque(maxlen=_REMEMBERED)

    def use(self, setting: NotificationForm) -> None:
        """Use the form of a setting, or the one that the terminal shows."""
        auto = setting is NotificationForm.AUTO
        self._form = form_by_environment(self._environment) if auto else setting
        self._certain = not auto
        if self._reply is not None:
            self.replied(self._reply)

    @property
    def form(self) -> NotificationForm:
        """The form in use."""
        return self._form

    def focus_changed(self, focused: bool) -> None:
        """Note that the terminal told of its focus, which not all of them do."""
        self._focused = focused

    def replied(self, reply: Reply) -> None:
        """Note what the terminal said of itself; its reply about OSC 99 counts more than its name."""
        if (form := form_by_reply(reply)) is None:
            return
        self._reply = reply if self._reply is None or form is NotificationForm.OSC99 else self._reply
        if self._certain:
            return
        self._form = form
        self._certain = form is NotificationForm.OSC99

    def call(self, notification: Notification, lasted: float) -> None:
        """Call the person, unless they look at the terminal; ``lasted``: seconds since the turn began."""
        if not is_away(self._focused, lasted) or notification.id in self._told:
            return
        self._told.append(notification.id)
        if sequence := notification_sequence(notification, self._form, self._environment):
            self._send(sequence)


def is_away(focused: bool | None, lasted: float) -> bool:
    """True if the person may not see the terminal; None is one that does not tell whether it has the focus."""
    return not focused if focused is not None else lasted > PATIENCE


_KEEP, _RESTORE = "\x1b[22;2t", "\x1b[23;2t"  # the terminal's own stack of titles (XTWINOPS)
_LONGEST = 80  # characters of a conversation's title
_PROGRAM = "Catena"


class WindowTitle:
    """The window's title, for as long as the terminal is ours; the one before comes back behind it."""

    def __init__(self, send: Callable[[str], None], *, spelled: Callable[[str], str] = str) -> None:
        """``send`` writes to the terminal past the screen; ``spelled``: a text in the characters that it has."""
        self._send = send
        self._spelled = spelled
        self._wanted = ""
        self._sent: str | None = None  # None: the title is not ours

    def name(self, conversation: str, mark: str) -> None:
        """Name the conversation that has the keys; ``mark`` is its state, and empty while nothing happens."""
        title = safe_line(conversation)[:_LONGEST].strip()
        words = " ".join(filter(None, (mark, title, "–" if title else "", _PROGRAM)))
        self._wanted = self._spelled(words)

    def show(self) -> None:
        """Send what is wanted, if the terminal does not have it."""
        if self._wanted and self._wanted != self._sent:
            self._send(f"{_KEEP if self._sent is None else ''}\x1b]2;{self._wanted}\x1b\\")
            self._sent = self._wanted

    def parting(self) -> str:
        """What gives the terminal its title back; terminals that keep none are left without one."""
        if self._sent is None:
            return ""
        self._sent = None
        return f"\x1b]2;\x1b\\{_RESTORE}"
