"""The script language: the scenes that a prompt names, their type, and patterns for their arguments.

A scene stands on its own line or between semicolons: a lower-case name and its arguments. Anything else is prose and
ignored; a prompt of prose alone gets a friendly answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from catena_acp.rehearsal.turn import ScriptedTurn

_SEPARATORS = re.compile(r"[\n;]")
_STEP = re.compile(r"/?([a-z][a-z0-9-]*!?)(?:\s+(.*))?")


class ScriptStep(NamedTuple):
    """A scene's name in a prompt, with its arguments."""

    scene: str
    arguments: re.Match[str]

    def word(self, name: str) -> str | None:
        """The argument that the scene's form calls ``name``."""
        return self.arguments[name]

    def number(self, name: str, default: float) -> float:
        """A named argument as a number."""
        said = self.arguments[name]
        return default if said is None else float(said)


def read_script(text: str, forms: Mapping[str, str]) -> tuple[ScriptStep, ...]:
    """Read the steps in ``text``; ``forms`` has for each scene a pattern of its arguments."""
    steps = (_read_step(part.strip(), forms) for part in _SEPARATORS.split(text))
    return tuple(step for step in steps if step is not None)


def _read_step(part: str, forms: Mapping[str, str]) -> ScriptStep | None:
    if part.lower() in ("help", "help!", "help?"):
        part = "help"
    spoken = _STEP.fullmatch(part)
    if spoken is None:
        return None
    form = forms.get(spoken[1])
    arguments = None if form is None else re.fullmatch(form, (spoken[2] or "").strip())
    return None if arguments is None else ScriptStep(spoken[1], arguments)


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
