"""Agents by name: those of the settings first, then the catalogue, then any command."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from catena.errors import CommandRefused, InvalidSettings
from catena.settings.settings import Settings, load_settings
from catena.settings.tables import AgentSetting
from catena_acp.agents.catalog import catalog, command_spec, find_agents, find_spec, is_command, is_known
from catena_acp.errors import AgentMissing
from catena_acp.port.port import AgentSpec

REHEARSAL = "rehearsal"


def requested_agent(name: str | None, command: str | None, settings: Settings) -> AgentSpec | None:
    """The agent of `--agent` or `--agent-command`; None if neither was given. Raises AgentMissing, CommandRefused."""
    if command is not None:
        if not command.strip():
            raise CommandRefused("--agent-command needs a command that speaks ACP")
        try:
            return command_spec(command)
        except AgentMissing as error:
            raise CommandRefused(f"--agent-command {error}") from error
    if name == "":
        raise CommandRefused("--agent needs a name; see `catena agents`")
    return find_agent(name, settings) if name is not None else None


def find_agent(name: str, settings: Settings) -> AgentSpec:
    """The agent of a name in the settings or the catalogue, or of a command's stored name. Raises AgentMissing."""
    if setting := settings.agents.get(name):
        return agent_of_setting(setting, settings)
    return _catalogue_spec(name)


def typed_agent(name: str, settings: Settings) -> AgentSpec:
    """The agent of a name that is typed in a conversation. Raises AgentMissing, CommandRefused for a name of none."""
    if not (_is_named(name, settings) or is_command(name)):
        raise CommandRefused(f"{name}: no such agent; /agent lists them.")
    return find_agent(name, settings)


def leading_agents(text: str, settings: Settings) -> tuple[list[AgentSpec], str]:
    """The agents that the first words of a text name, and what follows them. Raises AgentMissing, CommandRefused.

    The first word has to name one; a line break ends their names.
    """
    named: list[AgentSpec] = []
    rest = text.lstrip()
    while rest:
        name, following = _first_word(rest)
        if named and not _is_named(name, settings):
            break
        named.append(typed_agent(name, settings))
        rest = following.lstrip(" \t")
        if rest.startswith("\n"):
            break
    return named, rest.strip()


def _is_named(name: str, settings: Settings) -> bool:
    return name in settings.agents or is_known(name)


def _first_word(text: str) -> tuple[str, str]:
    word = text.split(maxsplit=1)[0]
    return word, text[len(word) :]


def agent_of_setting(setting: AgentSetting, settings: Settings) -> AgentSpec:
    """The agent of an `[agents.NAME]` table: a command of its own, changes to a catalogue agent, or a profile.

    Raises AgentMissing.
    """
    if setting.agent:
        whose = find_agent(setting.agent, settings)
        return replace(
            whose,
            title=setting.title or f"{whose.title} ({setting.profile})",
            env=(*whose.env, *setting.env),  # the later one wins
            profile=setting.profile,
        )
    in_catalogue = any(entry.name == setting.name for entry in catalog())
    if not setting.command:
        spec = _catalogue_spec(setting.name)
        return replace(spec, title=setting.title or spec.title, env=(*spec.env, *setting.env))
    spec = command_spec(shlex.join(setting.command))
    return replace(
        spec,
        # The name is stored with links: a catalogue agent with another command is still that agent, and any other
        # command is its own name, so that its conversations outlive its table in the settings.
        name=setting.name if in_catalogue else spec.name,
        title=setting.title or setting.name,
        env=setting.env,
    )


def stored_agent(name: str, profile: str, settings: Settings) -> AgentSpec:
    """The agent stored with a conversation, as the settings define it now. Raises AgentMissing.

    A profile that the settings no longer have is missing: another account never takes its place.
    """
    if setting := _setting_of(name, profile, settings):
        return agent_of_setting(setting, settings)
    if profile:
        raise AgentMissing(f"{name} ({profile})", "this profile is no longer in the settings")
    return find_spec(name)


def stored_agent_name(name: str, profile: str, settings: Settings) -> str:
    """The name in the settings or the catalogue of the agent stored with a conversation."""
    setting = _setting_of(name, profile, settings)
    return setting.name if setting else name


def titles_in_settings() -> Callable[[str, str | None], str | None]:
    """What `titles_of` gives for the settings in the person's file.

    Settings that cannot be used give none, for what only reads the store.
    """
    try:
        settings = load_settings()
    except InvalidSettings:
        settings = Settings()
    return titles_of(settings)


def titles_of(settings: Settings) -> Callable[[str, str | None], str | None]:
    """The title that settings give to the agent of a stored name and profile; None where they give none."""

    @cache  # few agents stand in many rows
    def title_of(name: str, profile: str | None) -> str | None:
        try:
            setting = _setting_of(name, profile or "", settings)
            if setting is None or setting.title or not (setting.agent or setting.command):
                return setting.title if setting else None
            return agent_of_setting(setting, settings).title
        except AgentMissing:
            return None

    return title_of


def _setting_of(name: str, profile: str, settings: Settings) -> AgentSetting | None:
    for setting in settings.agents.values():
        if setting.profile != profile:
            continue
        if setting.agent:
            if _stored_name(setting.agent, settings) == name:
                return setting
        elif setting.name == name or (setting.command and agent_of_setting(setting, settings).name == name):
            return setting
    return None


def _stored_name(agent: str, settings: Settings) -> str:
    """The name stored with links of an agent of the settings or the catalogue."""
    setting = settings.agents.get(agent)
    return agent_of_setting(setting, settings).name if setting and setting.command else agent


def stored_names(name: str, settings: Settings) -> tuple[str, str | None]:
    """The agent and profile that are stored for a name of the settings; any profile of a name that they do not have.

    Raises AgentMissing for a setting that names an agent that does not exist.
    """
    if (setting := settings.agents.get(name)) is None:
        return name, None
    return _stored_name(setting.agent or setting.name, settings), setting.profile


def default_agent(settings: Settings, last_used: tuple[str, str] | None) -> AgentSpec:
    """The agent of a new conversation: from the settings, else the last used, else the first installed one.

    ``last_used`` is its stored name and profile. The rehearsal agent is chosen only if it was the last used. Raises
    AgentMissing.
    """
    if settings.agent:
        return find_agent(settings.agent, settings)
    if last_used:
        return stored_agent(*last_used, settings)
    for found in find_agents():
        if found.spec is not None and found.entry.name != REHEARSAL:
            return found.spec
    raise AgentMissing(
        "no agent is installed",
        "see `catena agents` to get one, or try the demo: `--agent rehearsal`",
    )


def require_command(spec: AgentSpec) -> None:
    """Raise AgentMissing where the agent's command does not exist, before anything is stored for it."""
    command = spec.command[0]
    path = dict(spec.env).get("PATH")
    if shutil.which(command, path=path) is None:
        raise AgentMissing(command, "not found or not executable")


def _catalogue_spec(name: str) -> AgentSpec:
    if not (is_known(name) or is_command(name)):
        raise AgentMissing(name, "no such agent; see `catena agents`")
    return find_spec(name)
