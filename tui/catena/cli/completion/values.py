"""Values that are read when a shell asks: conversations, messages, agents and settings, each with words on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from catena.errors import InvalidSettings
from catena_store.finding.names import conversation_names, message_names

Value = tuple[str, str]  # the word, and what it is


def conversations(store: Path, start: str) -> Iterator[Value]:
    """Ids of conversations whose id begins so, and titles that do, newest first."""
    for each in conversation_names(store, start):
        if each.id.startswith(start):
            yield each.id, each.title or each.preview
        if start and each.title and each.title.lower().startswith(start.lower()):
            yield each.title, each.preview


def messages(store: Path, conversation: str | None, start: str, *, cwd: str) -> Iterator[Value]:
    """Ids of messages of a conversation, labelled checkpoints first."""
    for each in message_names(store, conversation, start, cwd=cwd):
        about = f"{'you' if each.kind == 'user' else 'agent'}: {each.preview}"
        yield each.id, about if each.label is None else f"checkpoint: {each.label}"


def agents() -> Iterator[Value]:
    """Names of agents: those of the settings, those that Catena knows or installed, and the rehearsal agent."""
    from catena_acp.agents.catalog import NO_ACCOUNT, catalog
    from catena_acp.agents.registry.installs import installed_agents

    known = {each.name: each.title for each in catalog()} | {"rehearsal": NO_ACCOUNT}
    ids = {each.id for each in catalog()}
    known |= {each.id: "installed by Catena" for each in installed_agents() if each.id not in ids}
    yield from sorted((known | dict.fromkeys(_own_agents(), "from your settings")).items())


def _own_agents() -> Sequence[str]:
    """The names of the settings' agents, without all the rest of the settings."""
    from catena.settings.file.document import SettingsDocument, read_text, settings_path

    path = settings_path()
    try:
        text = read_text(path)
        return [] if text is None else list(SettingsDocument(path, text).tables("agents"))
    except InvalidSettings:
        return []


def settings() -> Iterator[Value]:
    """The names of the settings."""
    from catena.settings.settings import SETTINGS

    yield from ((each.name, each.does) for each in SETTINGS)


def values_of(name: str) -> Iterator[str]:
    """The values of a setting, if it has a few."""
    from catena.settings.definitions import SettingKind
    from catena.settings.settings import definition_of

    definition = definition_of(name)
    match None if definition is None else definition.kind:
        case SettingKind.ON_OFF:
            yield from ("on", "off")
        case SettingKind.TRUE_FALSE:
            yield from ("true", "false")
        case SettingKind.CHOICE if definition is not None:
            yield from definition.choices
        case SettingKind.AGENT:
            yield from (agent for agent, _ in agents())
        case SettingKind.THEME:
            yield from _themes()


def _themes() -> Iterator[str]:
    """The themes that ship and the person's own; Textual's are not read, since that takes too long for a key."""
    from catena.settings.settings import load_settings
    from catena.themes.colours import SHIPPED, TERMINAL

    yield from (*SHIPPED, TERMINAL)
    try:
        yield from load_settings().themes
    except InvalidSettings:
        return
