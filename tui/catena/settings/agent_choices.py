"""The agents that a person can choose from: what is found on PATH, without a process or the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from catena.settings.agents import REHEARSAL, agent_of_setting, require_command, stored_agent_name
from catena.settings.settings import Settings
from catena_acp.agents.catalog import find_agents, lacks_account
from catena_acp.errors import AgentMissing

_OR = ", or "  # between two ways to log in
_NEEDS_NO_ACCOUNT = "built-in demo, no account needed"


class Readiness(StrEnum):
    """What stands between a person and an agent, in the words of a list."""

    READY = "ready"
    LOG_IN = "log in"
    MISSING = "not installed"


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """An agent that can be chosen, or could be if it were installed."""

    name: str  # in the settings or the catalogue
    title: str
    readiness: Readiness
    how: str = ""  # to log in, or to install it
    note: str = ""
    version: str = ""
    last_used: bool = False

    @property
    def found(self) -> bool:
        """True if it can be started."""
        return self.readiness is not Readiness.MISSING

    @property
    def needs_login(self) -> bool:
        """True if it is found, and has no account yet."""
        return self.readiness is Readiness.LOG_IN

    @property
    def about(self) -> str:
        """What is worth knowing beside its state: how to get further, or why it stands where it does."""
        if self.needs_login:
            return self.how.partition(_OR)[0]
        if not self.found:
            return self.how
        return "last used" if self.last_used else self.note


def agent_choices(settings: Settings, last_used: tuple[str, str] | None) -> list[AgentChoice]:
    """Every known agent: the last used, the others that are found and first ready, rehearsal; then the missing.

    ``last_used`` is its stored name and profile.
    """
    name = stored_agent_name(*last_used, settings) if last_used else None
    own = _own_agents(settings)
    named = {choice.name for choice in own}
    known = [*own, *(choice for choice in _catalogue_agents() if choice.name not in named)]
    marked = [replace(choice, last_used=choice.name == name) for choice in known]
    return sorted(
        marked,
        key=lambda choice: (
            not choice.found,
            not (choice.last_used and choice.found),
            choice.name == REHEARSAL,
            choice.needs_login,
        ),
    )


def with_versions(choices: Sequence[AgentChoice], versions: Mapping[str, str]) -> list[AgentChoice]:
    """The same agents, with the versions that are known by now."""
    return [replace(choice, version=versions.get(choice.name, choice.version)) for choice in choices]


def _own_agents(settings: Settings) -> list[AgentChoice]:
    own = []
    for setting in settings.agents.values():
        try:
            spec = agent_of_setting(setting, settings)
        except AgentMissing:
            continue
        choice = AgentChoice(setting.name, spec.title, Readiness.READY, note="from your settings")
        try:
            require_command(spec)
        except AgentMissing:
            how = f"{spec.command[0]}, the command in your settings, was not found"
            choice = replace(choice, readiness=Readiness.MISSING, how=how)
        own.append(choice)
    return own


def _catalogue_agents() -> list[AgentChoice]:
    choices = []
    for found in find_agents():
        entry = found.entry
        if found.spec is None:
            choice = AgentChoice(entry.name, entry.title, Readiness.MISSING, how=entry.install)
        elif entry.name == REHEARSAL:
            choice = AgentChoice(entry.name, entry.title, Readiness.READY, note=_NEEDS_NO_ACCOUNT)
        else:
            readiness = Readiness.LOG_IN if lacks_account(entry) else Readiness.READY
            choice = AgentChoice(
                entry.name, entry.title, readiness, how=entry.login or "", version=found.version or ""
            )
        choices.append(choice)
    return choices
