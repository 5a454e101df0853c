"""What a scene is, and the forms that what follows its name may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from catena_acp.rehearsal.script import ScriptStep
from catena_acp.rehearsal.turn import ScriptedTurn

RunScene = Callable[[ScriptedTurn, ScriptStep], None]

NOTHING: Final = ""
TEXT: Final = r"(?P<text>.+)"
OPTIONAL_TEXT: Final = r"(?P<text>.*)"
WORD: Final = r"(?P<word>\S+)"
CUE: Final = r"cue (?P<cue>[\w-]+)"
OPTIONAL_SECONDS: Final = r"(?P<seconds>\d+(?:\.\d+)?)?"


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene: what may follow its name (a regular expression), what it does, and how ``help`` explains it."""

    form: str
    run: RunScene
    usage: str
    about: str


def text_content(text: str) -> dict[str, Any]:
    """Text as a tool call holds it."""
    return {"type": "content", "content": {"type": "text", "text": text}}
