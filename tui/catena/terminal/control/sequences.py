"""The clipboard sequence, and the envelopes in which tmux and screen pass a sequence on."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from catena.multiplexers import in_screen, in_tmux

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
