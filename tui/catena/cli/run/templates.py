"""The prompt of a headless run, filled in where it names a template."""

from __future__ import annotations

from catena.errors import CommandRefused
from catena.screens.chat.commands.table import slash_command
from catena.settings.file.location import config_directory
from catena.settings.templates import PROJECT_FOLDER, KnownTemplates, named_template
from catena.widgets.commands import split_slash
from catena_store.database.database import Database


async def filled_in(prompt: str, directory: str, db: Database) -> str:
    """The text of the template that a prompt names, with its arguments; any other prompt as it is.

    Nobody reads the text before it goes out, so that a project's is only taken where the person has allowed it.
    Raises CommandRefused.
    """
    slash = split_slash(prompt)
    if slash is None or slash_command(slash[0]):
        return prompt
    name, arguments = slash
    template = named_template(await KnownTemplates(config_directory(), directory, db).read(), name)
    if template is None or (template.shipped and template.aside):  # the agent may have a command of that name
        return prompt
    if template.aside:
        raise CommandRefused(
            f"the prompt template /{name} is a side question: the screen and linear mode ask it"
        )
    if template.waits:
        raise CommandRefused(
            f"this project's prompt template /{name} ({PROJECT_FOLDER}/{name}.md) waits for you to allow it: "
            "/templates in Catena shows and allows it"
        )
    text = template.with_arguments(arguments)
    if not text.strip():
        raise CommandRefused(f"the prompt template /{name} is empty")
    return text
