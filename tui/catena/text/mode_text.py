"""Behaviour of an agent's modes, guessed from their words; agents do not state it otherwise."""

from __future__ import annotations

import re

_EVERYTHING = r"bypass( ?permissions?)?|yolo|(agent ?)?full ?access|danger\w*|never ?asks?|unattended|unasked"
_UNASKED = re.compile(rf"\b(accept ?edits?|auto(pilot| ?edits?| ?approve| ?accept)?|{_EVERYTHING})\b")
_ALL_UNASKED = re.compile(rf"\b({_EVERYTHING}|autopilot|asks? for nothing|all tools)\b")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+")


def acts_unasked(*names: str) -> bool:
    """True for a mode in which the agent does something without asking, by its id or its name."""
    return any(_UNASKED.search(_WORDS.sub(" ", name).lower()) for name in names)


def runs_everything(*words: str) -> bool:
    """True for a mode in which the agent does everything without asking, by its id, name or description."""
    return any(_ALL_UNASKED.search(_WORDS.sub(" ", each).lower()) for each in words)
