"""The type of a scene, and patterns for its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from catena_acp.rehearsal.script import ScriptStep
from catena_acp.rehearsal.turn import ScriptedTurn

RunScene = Callable[[ScriptedTurn, ScriptStep], None]

NOTHING: Final = ""
TEXT: Final = r"(?P<text>.+)"
OPTIONAL_TEXT: Final = r"(?P<text>.*)"
WORD: Final = r"(?P<word>\S+)"
CUE: Final = r"cue (?P<cue>[\w-]+)"
OPTIONAL_SECONDS: Final = r"(?P<seconds>\d+(?:\.\d+)?)?"


class Scene(NamedTuple):
    """A scene: a pattern of its arguments, a function, and the lines of ``help``."""

    form: str
    run: RunScene
    usage: str
    about: str
    needs: tuple[str, ...] = ()  # the client's capability without which it shows nothing


def text_content(text: str) -> dict[str, Any]:
    """Text as content of a tool call."""
    return {"type": "content", "content": {"type": "text", "text": text}}
