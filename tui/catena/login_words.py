"""What a person is told about logging in: the same on the screen and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from catena.safe_text import safe_line
from catena_acp.abilities import AuthMethod
from catena_acp.agents.login_methods import ENVIRONMENT, TERMINAL, Variable


def names_no_login(title: str, own_way: str | None) -> str:
    """Where an agent offers no way to log in."""
    way = f" Its own way: {own_way}." if own_way else ""
    return f"{safe_line(title)} names no way to log in from here.{way}"


def did_not_log_in(title: str, why: str, own_way: str | None) -> str:
    """Where the agent's own method failed."""
    way = f" Another way: {own_way}." if own_way else ""
    return f"{safe_line(title)} did not log you in: {safe_line(why)}. Everything is as it was.{way}"


def login_ended_badly(program: str, status: int) -> str:
    """Where a login in the terminal failed."""
    how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
    return f"The login did not succeed: {safe_line(program)} {how}. Everything is as it was."


def cannot_be_started(program: str, why: str | None) -> str:
    """Where the program of a login is not there."""
    return (
        f"The login cannot be started: {safe_line(program)}: {why or 'not found'}. Everything is as it was."
    )


def kind_in_words(method: AuthMethod) -> str:
    """How a method is done, for a list to choose from."""
    match method.kind:
        case "terminal":
            return "in the terminal"
        case "env_var":
            return "by environment variables"
        case _:
            return "by the agent"


def variables_in_words(
    title: str, name: str, method: AuthMethod, variables: Sequence[Variable], settings_path: str
) -> list[str]:
    """How to log in by environment variables; ``name`` is the agent's in the settings. Values are never told."""
    lines = [f"{safe_line(title)} reads this login from its environment when it starts."]
    if method.description:
        lines += ["", safe_line(method.description)]
    lines += [
        "",
        *(f"  {safe_line(each.name)}: {'is set' if each.is_set else 'is not set'}" for each in variables),
    ]
    if not variables:
        lines.append("  It does not name the variables.")
    lines += [
        "",
        f"Set them under [agents.{name}.env] in {settings_path}",
        "or in the shell before Catena starts; then start Catena again. Your tabs come back.",
    ]
    return lines


def is_agents_own(method: AuthMethod) -> bool:
    """True where the running agent itself does it when it is asked to."""
    return method.kind not in (TERMINAL, ENVIRONMENT)
