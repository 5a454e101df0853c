"""The help on one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catena.acts.surface import Refused
from catena.acts.table import FrontCommand, by_names, command_with_rest, verbs_of
from catena.acts.unknown import shown_name
from catena.settings.templates import Template


def help_of(
    words: str, commands: Sequence[FrontCommand], templates: Mapping[str, Template]
) -> list[tuple[str, str]]:
    """The usage of what is named and what it does, then its verbs; with or without a slash. Raises Refused."""
    name, _, rest = words.removeprefix("/").partition(" ")
    found, _ = command_with_rest(by_names(commands), name, rest.strip())
    if found is not None:
        return [(f"/{each.usage}", each.summary) for each in (found, *verbs_of(found, commands))]
    if (template := templates.get(name)) is not None:
        return [(template.usage, template.description)]
    raise Refused(f"There is no command {shown_name(words)}; /help all lists them.")
