"""Control sequences that Textual does not send, wrapped for tmux and screen."""

from __future__ import annotations

import base64
from collections.abc import Mapping

_SCREEN_CHUNK = 700  # GNU screen drops a longer device control string


def clipboard(text: str, environment: Mapping[str, str]) -> str:
    """The sequence that puts ``text`` on the terminal's clipboard (OSC 52), which no terminal acknowledges."""
    payload = base64.b64encode(text.encode(errors="replace")).decode("ascii")
    sequence = f"\x1b]52;c;{payload}\x07"
    # tmux reads the plain sequence with `set-clipboard` on, and passes the wrapped one on with passthrough allowed.
    return (
        sequence + pass_through(sequence, environment)
        if _in_tmux(environment)
        else pass_through(sequence, environment)
    )


def notification(text: str, environment: Mapping[str, str]) -> str:
    """The sequence of a desktop notification (OSC 9), and the bell."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return pass_through(f"\x1b]9;{line}\x1b\\", environment) + "\x07"


def pass_through(sequence: str, environment: Mapping[str, str]) -> str:
    """``sequence`` wrapped so that tmux or screen passes it on to the outer terminal."""
    if _in_tmux(environment):
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}\x1b\\"
    if environment.get("TERM", "").startswith("screen"):
        pieces = (sequence[at : at + _SCREEN_CHUNK] for at in range(0, len(sequence), _SCREEN_CHUNK))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return sequence


def _in_tmux(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("TMUX"))
