"""The `[agents.NAME]` tables: agents of the person's own, changes to known ones, and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catena.settings.file.document import SettingsDocument


@dataclass(frozen=True, slots=True)
class AgentSetting:
    """One `[agents.NAME]` table: an agent of its own, changes to a catalogue agent, or a profile.

    A profile is another account of ``agent``, named ``profile``.
    """

    name: str
    command: tuple[str, ...] = ()  # empty: the catalogue's
    title: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    agent: str | None = None
    profile: str = ""


def read_agents(document: SettingsDocument) -> dict[str, AgentSetting]:
    """The agents of a settings file, by name. Raises InvalidSettings."""
    agents = {name: _agent(document, name, value) for name, value in document.tables("agents").items()}
    _check_profiles(document, agents)
    return agents


def known_names(agents: Mapping[str, AgentSetting]) -> set[str]:
    """The names of every agent: of the catalogue, and of these tables."""
    from catena_acp.agents.catalog import catalog

    return {*agents, *(entry.name for entry in catalog())}


def _agent(document: SettingsDocument, name: str, value: Any) -> AgentSetting:
    at = ("agents", name)
    if not isinstance(value, dict):
        raise document.wrong(at, "must be a table with `command`, `title`, `env`, or `agent` and `profile`")
    document.only(value, at, ("command", "title", "env", "agent", "profile"))
    agent = document.text_at(value, (*at, "agent"))
    profile = document.text_at(value, (*at, "profile"))
    if agent and "command" in value:
        raise document.wrong(
            (*at, "command"), "cannot be combined with `agent`: a profile uses its agent's command"
        )
    if profile and not agent:
        raise document.wrong((*at, "profile"), "needs `agent`, the agent it belongs to")
    return AgentSetting(
        name=name,
        command=_command(document, value, (*at, "command")),
        title=document.text_at(value, (*at, "title")),
        env=_env(document, value, (*at, "env")),
        agent=agent,
        profile=(profile or name) if agent else "",
    )


def _check_profiles(document: SettingsDocument, agents: Mapping[str, AgentSetting]) -> None:
    """Check that each profile has an existing agent, a name of its own and a unique profile name."""
    profiles = [each for each in agents.values() if each.agent]
    if not profiles:
        return
    from catena_acp.agents.catalog import catalog, is_known

    known = {entry.name for entry in catalog()}
    seen: dict[tuple[str, str], str] = {}
    for each in profiles:
        at = ("agents", each.name)
        whose = agents.get(each.agent or "")
        if each.name in known:
            raise document.wrong(
                (*at, "agent"), f"is already the name of an agent: “{each.name}”; choose another"
            )
        if (whose is None or not whose.command) and not is_known(each.agent or ""):
            why = f'"{each.agent}" is not an agent that can have profiles; see `catena agents`'
            raise document.wrong((*at, "agent"), why)
        other = seen.setdefault((each.agent or "", each.profile), each.name)
        if other != each.name:
            raise document.wrong((*at, "profile"), f'"{each.profile}" is already used by [agents.{other}]')


def _command(document: SettingsDocument, table: Mapping[str, Any], at: tuple[str, ...]) -> tuple[str, ...]:
    value = table.get(at[-1])
    if value is None:
        return ()
    if isinstance(value, str):
        import shlex

        try:
            words: list[Any] = shlex.split(value)
        except ValueError as error:
            raise document.wrong(at, f"cannot be parsed as a command: {error}") from error
    else:
        words = value if isinstance(value, list) else []
    if not words or not all(isinstance(word, str) and word and "\0" not in word for word in words):
        raise document.wrong(at, 'must be a command: "my-agent --acp", or ["my-agent", "--acp"]')
    return tuple(words)


def _env(
    document: SettingsDocument, table: Mapping[str, Any], at: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    value = table.get(at[-1], {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise document.wrong(at, 'must be a table of strings: { KEY = "value" }')
    for name, text in value.items():
        if not name or "=" in name or "\0" in name:
            raise document.wrong(
                (*at, name), "is not a valid variable name: it is empty, or contains = or NUL"
            )
        if "\0" in text:
            raise document.wrong((*at, name), "contains a NUL character")
    return tuple(value.items())
