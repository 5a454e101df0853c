"""Text about agents: their logins, and how they behave in a mode, guessed from its words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from catena.text.safe_text import safe_line
from catena_acp.agents.agent import ENVIRONMENT, TERMINAL, Variable
from catena_acp.port.abilities import AuthMethod

if TYPE_CHECKING:
    from catena_acp.conversation.access.logins import UnansweredPrompt

LONG_OPENING = "Opening is slow: {Send} continues in a new session"

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


def no_login_text(title: str, own_way: str | None) -> str:
    """Text for an agent that offers no login method."""
    way = f" Try: {own_way}." if own_way else ""
    return f"{safe_line(title)} offers no login from here.{way}"


def login_refused_text(title: str, why: str, own_way: str | None) -> str:
    """Text for a failed login by the agent itself."""
    way = f" Or try: {own_way}." if own_way else ""
    return f"{safe_line(title)} login failed: {safe_line(why)}. Nothing changed.{way}"


def login_failed_text(program: str, status: int) -> str:
    """Text for a failed login in the terminal."""
    how = f"exited with status {status}" if status >= 0 else f"was killed by signal {-status}"
    return f"Login failed: {safe_line(program)} {how}. Nothing changed."


def login_not_started_text(program: str, why: str | None) -> str:
    """Text for a login program that cannot be started."""
    return f"Login could not start: {safe_line(program)}: {why or 'not found'}. Nothing changed."


def method_kind_text(method: AuthMethod) -> str:
    """The kind of a login method, for a list to choose from."""
    match method.kind:
        case "terminal":
            return "in the terminal"
        case "env_var":
            return "by environment variables"
        case _ if method.by_key:
            return "by an API key"
        case _:
            return "by the agent"


def logged_in_text(title: str, owed: UnansweredPrompt | None, *, edited: str | None = None) -> str:
    """Text after a login: it names the prompt that needed it, and what becomes of that.

    ``edited`` is how to send that prompt if the person has changed it since.
    """
    done = f"Logged in to {safe_line(title)}"
    if owed is None:
        return f"{done}."
    if owed.begun:
        return f"{done}. The answer that needed it is incomplete: /retry asks again."
    if edited is not None:
        return f"{done}. You edited the prompt that needed it: {edited}."
    return f"{done}: the prompt that needed it is sent again."


def still_wanted_text(title: str, why: str, own_way: str | None) -> str:
    """Text for a login that was done, and that the agent does not know of when it starts the next time."""
    way = f" Try: {own_way}." if own_way else ""
    return f"{safe_line(title)} still needs a login: {safe_line(why).rstrip('.')}.{way}"


def unset_variables_text(title: str, names: Sequence[str]) -> str:
    """Text for a login by environment variables of which some are missing."""
    missing = f" ({', '.join(map(safe_line, names))} not set)" if names else ""
    return f"{safe_line(title)} still needs its login{missing}"


def login_wait_text(title: str, method: AuthMethod) -> str:
    """Text while the agent carries out a login."""
    if method.by_key:
        return f"{safe_line(title)} logs in with your API key. Ctrl+C cancels."
    return f"Waiting for {safe_line(title)} to log in; a browser may open. Ctrl+C cancels."


def terminal_login_lines(argv: Sequence[str]) -> list[str]:
    """The command of a login in the terminal, and how to leave it: some of them start a server and never end."""
    return [safe_line(shlex.join(argv)), "Ctrl+C stops it and returns."]


def variable_lines(
    title: str, name: str, method: AuthMethod, variables: Sequence[Variable], settings_path: str
) -> list[str]:
    """Lines on a login by environment variables, without their values; ``name`` is the agent's in the settings."""
    lines = [f"{safe_line(title)} reads this login from its environment when it starts."]
    if method.description:
        lines += ["", safe_line(method.description)]
    lines += [
        "",
        *(f"  {safe_line(each.name)}: {'is set' if each.is_set else 'is not set'}" for each in variables),
    ]
    if not variables:
        lines.append("  The agent does not say which variables.")
    lines += [
        "",
        f"Set them under [agents.{name}.env] in {settings_path}",
        "or in your shell, then restart Catena. Your tabs are restored.",
    ]
    return lines


def is_agent_method(method: AuthMethod) -> bool:
    """True for a login method that the running agent carries out itself."""
    return method.kind not in (TERMINAL, ENVIRONMENT)
