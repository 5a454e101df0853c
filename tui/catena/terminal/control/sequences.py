"""Sequences: the clipboard, desktop notifications, and the envelopes in which tmux and screen pass them on."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from catena.multiplexers import in_screen, in_tmux
from catena.terminal.control.replies import OscReply, Reply, VersionReply

_SCREEN_CHUNK = 700  # GNU screen drops a longer device control string


def clipboard(text: str, environment: Mapping[str, str]) -> str:
    """The sequence that puts ``text`` on the terminal's clipboard (OSC 52), which no terminal acknowledges."""
    payload = base64.b64encode(text.encode(errors="replace")).decode("ascii")
    sequence = f"\x1b]52;c;{payload}\x07"
    # tmux reads the plain sequence with `set-clipboard` on, and passes the wrapped one on with passthrough allowed.
    return (
        sequence + pass_through(sequence, environment)
        if in_tmux(environment)
        else pass_through(sequence, environment)
    )


def pass_through(sequence: str, environment: Mapping[str, str]) -> str:
    """``sequence`` wrapped so that tmux or screen passes it on to the outer terminal.

    In screen it has to end with BEL: ST, the other end of a command, would end the envelope.
    """
    if in_tmux(environment):
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}\x1b\\"
    if in_screen(environment):
        pieces = (sequence[at : at + _SCREEN_CHUNK] for at in range(0, len(sequence), _SCREEN_CHUNK))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return sequence


def mouse_delays_escape(environment: Mapping[str, str]) -> bool:
    """True in GNU screen: while the mouse is reported, it holds back a lone Esc until another key follows."""
    return "STY" in environment and not environment.get("TERM", "").startswith("tmux")


BELL = "\x07"
_LONGEST_TITLE = 80  # characters
_LONGEST_BODY = 200
_NO_ID = re.compile(r"[^\w.+-]", re.ASCII)


class NotificationForm(StrEnum):
    """How the person is called; the names are the setting's values."""

    AUTO = "auto"  # by what the terminal is
    OSC9 = "osc9"  # iTerm2's: one line
    OSC777 = "osc777"  # rxvt's: title and text
    OSC99 = "osc99"  # kitty's
    BELL = "bell"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification: whose it is, and what happened. Both may be an agent's words."""

    title: str
    body: str
    id: str = "catena"  # of the event; a terminal shows one notification of an id


CallPerson: TypeAlias = Callable[[Notification, float], None]  # with the seconds since the turn began

# By the name that a terminal reports (XTVERSION), or has in TERM_PROGRAM or LC_TERMINAL; lower case, first match.
_BY_NAME = (
    ("kitty", NotificationForm.OSC99),
    ("foot", NotificationForm.OSC777),
    ("ghostty", NotificationForm.OSC777),
    ("wezterm", NotificationForm.OSC777),
    ("contour", NotificationForm.OSC777),
    ("warp", NotificationForm.OSC777),
    ("iterm", NotificationForm.OSC9),
)
_BY_TERM = (
    ("xterm-kitty", NotificationForm.OSC99),
    ("foot", NotificationForm.OSC777),
    ("xterm-ghostty", NotificationForm.OSC777),
    ("wezterm", NotificationForm.OSC777),
    ("contour", NotificationForm.OSC777),
    ("rxvt-unicode", NotificationForm.OSC777),
)
# Set by a terminal, and still there where tmux has put its own name into TERM and TERM_PROGRAM.
_BY_VARIABLE = (
    ("KITTY_WINDOW_ID", NotificationForm.OSC99),
    ("GHOSTTY_RESOURCES_DIR", NotificationForm.OSC777),
    ("WEZTERM_PANE", NotificationForm.OSC777),
    ("ITERM_SESSION_ID", NotificationForm.OSC9),
)


def form_by_environment(environment: Mapping[str, str]) -> NotificationForm:
    """The form that the terminal shows, as far as the environment tells; else the bell."""
    for variable in ("TERM_PROGRAM", "LC_TERMINAL"):
        if (form := _form_of(environment.get(variable, ""))) is not None:
            return form
    term = environment.get("TERM", "")
    for beginning, form in _BY_TERM:
        if term.startswith(beginning):
            return form
    return next((form for name, form in _BY_VARIABLE if environment.get(name)), NotificationForm.BELL)


def form_by_reply(reply: Reply) -> NotificationForm | None:
    """The form that the terminal shows where one of its replies tells; the reply about OSC 99 is certain."""
    match reply:
        case OscReply(code=99, body=body):
            keys = body.partition(";")[0].split(":")
            return NotificationForm.OSC99 if "p=?" in keys else None
        case VersionReply(text=text):
            return _form_of(text)
        case _:
            return None


def _form_of(name: str) -> NotificationForm | None:
    return next((form for word, form in _BY_NAME if name.lower().startswith(word)), None)


def notification_sequence(
    notification: Notification, form: NotificationForm, environment: Mapping[str, str]
) -> str:
    """The sequence that sends a notification to the terminal; AUTO is resolved by the environment.

    Within tmux and screen the bell rings too, since nothing tells whether they pass the sequence on.
    """
    if form is NotificationForm.AUTO:
        form = form_by_environment(environment)
    title, body = _line(notification.title, _LONGEST_TITLE), _line(notification.body, _LONGEST_BODY)
    end = BELL if in_screen(environment) else "\x1b\\"
    event = _NO_ID.sub("", notification.id)
    match form:
        case NotificationForm.OSC9:
            text = f"{title}: {body}" if title else body
            # Others than iTerm2 take a number there for a command, such as 4 for progress.
            text = f"Catena: {text}" if text[:1].isdigit() else text
            sequences = [f"\x1b]9;{text}{end}"]
        case NotificationForm.OSC777:
            sequences = [f"\x1b]777;notify;{title.replace(';', ',')};{body.replace(';', ',')}{end}"]
        case NotificationForm.OSC99:
            sequences = [
                f"\x1b]99;i={event}:e=1:d=0;{_encoded(title)}{end}",
                f"\x1b]99;i={event}:e=1:p=body;{_encoded(body)}{end}",
            ]
        case NotificationForm.BELL:
            return BELL
        case _:
            return ""
    bell = BELL if in_tmux(environment) or in_screen(environment) else ""
    return "".join(pass_through(each, environment) for each in sequences) + bell


def _line(text: str, longest: int) -> str:
    """The text as one short line, without anything that a terminal or a desktop would obey."""
    shown = "".join(character if character.isprintable() else " " for character in text[: longest * 4])
    line = " ".join(shown.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode(errors="replace")).decode("ascii")
