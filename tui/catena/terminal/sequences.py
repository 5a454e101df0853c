"""Control sequences that Textual does not send, as text; wrapped where a multiplexer stands between."""

from __future__ import annotations

import base64
from collections.abc import Mapping

_SCREEN_CHUNK = 700  # GNU screen drops a longer device control string


def clipboard(text: str, environment: Mapping[str, str]) -> str:
    """Asks the terminal to put ``text`` on its clipboard (OSC 52). Whether it does is never answered."""
    payload = base64.b64encode(text.encode(errors="replace")).decode("ascii")
    sequence = f"\x1b]52;c;{payload}\x07"
    # tmux takes the plain one where `set-clipboard` is on, and hands on the wrapped one where passthrough is allowed.
    return (
        sequence + wrapped(sequence, environment) if _in_tmux(environment) else wrapped(sequence, environment)
    )


def notification(text: str, environment: Mapping[str, str]) -> str:
    """A desktop notification where the terminal knows them (OSC 9), and the bell."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return wrapped(f"\x1b]9;{line}\x1b\\", environment) + "\x07"


def wrapped(sequence: str, environment: Mapping[str, str]) -> str:
    """``sequence`` so that tmux or screen hands it to the terminal outside."""
    if _in_tmux(environment):
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}\x1b\\"
    if environment.get("TERM", "").startswith("screen"):
        pieces = (sequence[at : at + _SCREEN_CHUNK] for at in range(0, len(sequence), _SCREEN_CHUNK))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return sequence


def _in_tmux(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("TMUX"))
