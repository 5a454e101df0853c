"""The script language: which scenes a prompt asks for.

A scene stands on a line of its own or between semicolons: a lower-case name and what it takes. What fits no
scene is prose; it is heard, and performed by nobody. A prompt that is all prose gets the friendly answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SEPARATORS = re.compile(r"[\n;]")
_STEP = re.compile(r"/?([a-z][a-z0-9-]*!?)(?:\s+(.*))?")


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One scene that a prompt asks for, and what it is given."""

    scene: str
    arguments: re.Match[str]

    def word(self, name: str) -> str | None:
        """The part of what was given that the scene's form calls ``name``."""
        return self.arguments[name]

    def number(self, name: str, default: float) -> float:
        """The same, as a number."""
        said = self.arguments[name]
        return default if said is None else float(said)


def read_script(text: str, forms: Mapping[str, str]) -> tuple[ScriptStep, ...]:
    """The steps in ``text``, in order; ``forms`` says for each scene what may follow its name, as a pattern."""
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
