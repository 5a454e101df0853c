"""Which agent is meant: the settings' own agents first, then the catalogue, then any command."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace

from catena.config import AgentSetting, Settings
from catena_acp.catalog import catalog, find_agents, spec_named, spec_of_command
from catena_acp.errors import AgentMissing
from catena_acp.port import AgentSpec

REHEARSAL = "rehearsal"


def agent_asked_for(name: str | None, command: str | None, settings: Settings) -> AgentSpec | None:
    """The agent of `--agent` or `--agent-command`; None where neither was given. Raises AgentMissing."""
    if command:
        return spec_of_command(command)
    return agent_named(name, settings) if name else None


def agent_named(name: str, settings: Settings) -> AgentSpec:
    """The agent of that name in the settings or the catalogue. Raises AgentMissing."""
    if setting := settings.agents.get(name):
        return agent_of_setting(setting)
    return _of_catalogue(name)


def agent_of_setting(setting: AgentSetting) -> AgentSpec:
    """The agent of one `[agents.NAME]` table: a command of the person's own, or additions to the catalogue's.

    Raises AgentMissing.
    """
    in_catalogue = any(entry.name == setting.name for entry in catalog())
    if not setting.command:
        spec = _of_catalogue(setting.name)
        return replace(spec, title=setting.title or spec.title, env=setting.env)
    spec = spec_of_command(shlex.join(setting.command))
    return replace(
        spec,
        # Links are stamped with the name: a catalogue agent that lives elsewhere is still that agent, and any other
        # command is known by itself, so that its conversations outlive its table in the settings.
        name=setting.name if in_catalogue else spec.name,
        title=setting.title or setting.name,
        env=setting.env,
    )


def agent_kept(name: str, settings: Settings) -> AgentSpec:
    """The agent that a conversation was kept with, with what the settings say of it. Raises AgentMissing."""
    for setting in settings.agents.values():
        if setting.name == name or (setting.command and agent_of_setting(setting).name == name):
            return agent_of_setting(setting)
    return spec_named(name)


def default_agent(settings: Settings, last_used: str | None) -> AgentSpec:
    """The agent of a new conversation: the settings', else the last used, else the first that is installed.

    The rehearsal agent is never chosen by default, only if it was the last used. Raises AgentMissing.
    """
    if settings.agent:
        return agent_named(settings.agent, settings)
    if last_used:
        return agent_kept(last_used, settings)
    for found in find_agents():
        if found.spec is not None and found.entry.name != REHEARSAL:
            return found.spec
    raise AgentMissing(
        "no agent is installed",
        "`catena agents` says how to get one; `--agent rehearsal` tries Catena without",
    )


def require_command(spec: AgentSpec) -> None:
    """Raise AgentMissing where the agent's command is not there, before anything is kept for it."""
    command = spec.command[0]
    path = dict(spec.env).get("PATH")
    if shutil.which(command, path=path) is None:
        raise AgentMissing(command, "no such command, or it cannot be run")


def _of_catalogue(name: str) -> AgentSpec:
    if not any(entry.name == name for entry in catalog()):
        raise AgentMissing(name, "no such agent; `catena agents` lists those that there are")
    return spec_named(name)
