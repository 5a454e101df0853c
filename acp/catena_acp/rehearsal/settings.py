"""What a session lets the person choose: its mode, its model and a few made-up options."""

from __future__ import annotations

from typing import Any

from catena_acp.rehearsal.wire import INVALID_PARAMS, Refusal

_MODES = (
    ("ask", "Ask", "Asks before it pretends to change anything"),
    ("code", "Code", "Pretends to write code"),
    ("plan", "Plan", "Only makes plans"),
)
_MODELS = (
    ("understudy", "Understudy", "Knows the lines"),
    ("lead", "Lead", "Speaks the same lines, louder"),
    ("chorus", "Chorus", "Speaks them all at once"),
)
_THOUGHT = (("off", "Off", ""), ("brief", "Brief", ""), ("long", "Long", ""))
_SELECTS = {
    "mode": ("Mode", "mode", _MODES),
    "model": ("Model", "model", _MODELS),
    "thought": ("Thinking", "thought_level", _THOUGHT),
}


class Settings:
    """The values in force in one open session. They are not kept: opened again, it has the defaults."""

    def __init__(self) -> None:
        self.values: dict[str, str | bool] = {
            "mode": "ask",
            "model": "understudy",
            "thought": "brief",
            "fast": False,
        }

    def set_mode(self, mode: object) -> None:
        """Change the mode. Raises ``Refusal`` where there is no such mode."""
        self.set("mode", mode)

    def set(self, option: object, value: object) -> None:
        """Change an option. Raises ``Refusal`` where there is no such option or value."""
        match option:
            case "fast" if isinstance(value, bool):
                self.values["fast"] = value
            case "mode" | "model" | "thought" if isinstance(value, str):
                if value not in [choice[0] for choice in _SELECTS[option][2]]:
                    raise Refusal(INVALID_PARAMS, f"There is no {option} {value!r}")
                self.values[option] = value
            case _:
                raise Refusal(INVALID_PARAMS, f"There is no option {option!r} that takes {value!r}")

    def modes(self) -> dict[str, Any]:
        """As ``session/new`` answers them."""
        available = [{"id": id, "name": name, "description": about} for id, name, about in _MODES]
        return {"currentModeId": self.values["mode"], "availableModes": available}

    def options(self, *, booleans: bool) -> list[dict[str, Any]]:
        """All of them; the boolean one only for a client that says it can show such."""
        shown: list[dict[str, Any]] = []
        for id, (name, category, choices) in _SELECTS.items():
            values = [
                {"value": value, "name": label, "description": about or None}
                for value, label, about in choices
            ]
            common = {"id": id, "name": name, "category": category}
            shown.append({**common, "type": "select", "currentValue": self.values[id], "options": values})
        if booleans:
            fast = {"id": "fast", "name": "Speak fast", "category": "model_config", "type": "boolean"}
            shown.append({**fast, "currentValue": self.values["fast"]})
        return shown


def commands(*, extra: bool = False) -> list[dict[str, Any]]:
    """The slash commands; with ``extra``, one more, as of an agent that learns during a session."""
    known: list[dict[str, Any]] = [
        {"name": "help", "description": "What can be rehearsed here"},
        {"name": "markdown", "description": "A showpiece with every construct"},
        {"name": "plan", "description": "A plan that makes progress"},
        {"name": "code", "description": "A block of code", "input": {"hint": "language"}},
        {"name": "echo", "description": "What this session has heard"},
        {"name": "settings", "description": "Mode, model and options in force"},
    ]
    if extra:
        known.append({"name": "encore", "description": "Once more", "input": {"hint": "what"}})
    return known
