"""The prompt of a headless run: filled in where it names a template, with the text that is piped in."""

from __future__ import annotations

import os
import select
import stat
import sys
from typing import TextIO

from catena.errors import CommandRefused
from catena.screens.chat.commands.table import slash_command
from catena.settings.file.document import config_directory
from catena.settings.templates import PROJECT_FOLDER, KnownTemplates, named_template
from catena.widgets.commands import split_slash
from catena_acp.continuity.wording.counts import counted
from catena_store.database.database import Database
from catena_store.windows.attached_files import MOST_BYTES


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


_PIPES = (stat.S_ISFIFO, stat.S_ISSOCK, stat.S_ISREG)  # no terminal, and no /dev/null
_SILENCE = 3.0  # seconds after which it is said what is waited for


def piped_text(source: TextIO, *, tell: bool) -> str:
    """Read a pipe or a file to its end, below a line that marks it as piped; "" if there is nothing.

    With ``tell``, standard error says that it is waited for. Raises CommandRefused for what is too large or no text.
    """
    if not any(is_pipe(os.fstat(source.fileno()).st_mode) for is_pipe in _PIPES):
        return ""
    if tell and not select.select([source], [], [], _SILENCE)[0]:
        print("catena: waiting for standard input; </dev/null sends the prompt alone", file=sys.stderr)
    content = source.buffer.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        limit = f"{MOST_BYTES // 1_048_576} MB"
        raise CommandRefused(f"the piped text is over {limit}. Save it to a file and name that in the prompt")
    if b"\0" in content:
        raise CommandRefused("the piped input is not text. --attach PATH sends a file")
    text = content.decode("utf-8", "replace").rstrip("\n")
    return f"[piped {counted(text.count(chr(10)) + 1, 'line')}]\n{text}" if text.strip() else ""
