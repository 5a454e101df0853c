"""Prompt templates: Markdown files that are offered as commands, the project's above the person's above Catena's.

A project is a stranger: what a template of its says is sent without a look, by `catena run` or as a side question, only
where the person allowed just this content; one that they do not want is as if it were not there.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from catena.text.safe_text import safe_line
from catena_acp.continuity.routing.slash_commands import as_prose
from catena_store.errors import StoreError

if TYPE_CHECKING:  # the first frame reads no store
    from catena_store.database.database import Database

FOLDER = "prompts"  # below the configuration directory
PROJECT_FOLDER = ".catena/prompts"  # below the directory of a conversation
_SHIPPED = Path(__file__).parent / FOLDER
_MOST_FILES = 100  # of a folder
_MOST_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PLACES = re.compile(r"\$(?:(ARGUMENTS)\b|([1-9])(?![0-9]))")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Template:
    """One template; ``name`` is what is typed behind the slash."""

    name: str
    text: str
    description: str = ""
    hint: str = ""  # of its arguments
    aside: str = ""  # the name of the file of a saved answer, if it is a side question
    of_project: bool = False
    shipped: bool = False  # with Catena
    path: str = ""  # of the file, resolved
    digest: str = ""  # of its content
    allowed: bool | None = None  # the person's answer about a project's, as it is; None before there is one

    @property
    def usage(self) -> str:
        """The command to type, with a hint of what may follow."""
        return f"/{self.name} {self.hint}".rstrip()

    @property
    def refused(self) -> bool:
        """True for one of a project that the person does not want."""
        return self.of_project and self.allowed is False

    @property
    def waits(self) -> bool:
        """True for one of a project that is not sent before the person has allowed it or read it."""
        return self.of_project and not self.allowed

    def with_arguments(self, arguments: str) -> str:
        """The text with ``$ARGUMENTS`` and ``$1`` to ``$9`` filled in; without such places arguments go below it.

        It never begins as a command of Catena or the shell: whoever wrote the file says only what is to be sent.
        """
        words = _words(arguments)

        def filled(place: re.Match[str]) -> str:
            if place[1]:
                return arguments
            number = int(place[2])
            return words[number - 1] if number <= len(words) else ""

        text, places = _PLACES.subn(filled, self.text)
        if arguments and not places:
            text = f"{text}\n\n{arguments}"
        return as_prose(text.strip())


def find_templates(own: Path, project: str) -> tuple[Template, ...]:
    """The templates of a project, those of the person's configuration directory, and Catena's, each by name. Blocks.

    Files that cannot be read are left out, and so are links in a project that lead out of it.
    """
    folder = Path(project, PROJECT_FOLDER)
    return (
        *(replace(each, of_project=True) for each in _templates(folder, inside=Path(project))),
        *_templates(own / FOLDER),
        *(replace(each, shipped=True) for each in _templates(_SHIPPED)),
    )


def named_template(templates: Sequence[Template], name: str) -> Template | None:
    """The template of a name: the first that was not refused."""
    return used_templates(templates).get(name)


def used_templates(templates: Sequence[Template]) -> dict[str, Template]:
    """Of each name the template that is used, in the order in which they were found."""
    used: dict[str, Template] = {}
    for each in templates:
        if not each.refused:
            used.setdefault(each.name, each)
    return used


def own_copy(template: Template, own: Path) -> Path:
    """The file in which a template is changed: a copy of the person's own of one that is shipped. Raises OSError."""
    if not template.shipped:
        return Path(template.path)
    copy = own / FOLDER / f"{template.name}.md"
    copy.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError), copy.open("xb") as file:
        file.write(Path(template.path).read_bytes())
    return copy


@dataclass(frozen=True, slots=True)
class KnownTemplates:
    """The templates of a configuration directory and of a project, with the person's answers."""

    own: Path
    project: str
    store: Database

    async def read(self) -> tuple[Template, ...]:
        """Read the templates in a thread; without answers where the store cannot be read."""
        from catena_store.conversations import permission_rules

        found = await asyncio.to_thread(find_templates, self.own, self.project)
        answers: dict[str, bool | None] = {}
        if any(each.of_project for each in found):
            with contextlib.suppress(StoreError):
                async with self.store.read() as reader:
                    for each in found:
                        if each.of_project:
                            answers[each.path] = await permission_rules.file_answer(
                                reader, each.path, each.digest
                            )
        return tuple(replace(each, allowed=answers.get(each.path)) for each in found)


async def answer_about(template: Template, db: Database, *, allowed: bool) -> None:
    """Store the person's answer about a project's template as they saw it. Raises StoreError."""
    from catena_store.conversations import permission_rules

    async with db.write() as tx:
        await permission_rules.keep_file_answer(tx, template.path, template.digest, trusted=allowed)


def _digest(data: bytes) -> str:
    import hashlib  # with OpenSSL: 4 MiB that nothing else on the way to the screen needs

    return hashlib.sha256(data).hexdigest()


def _templates(folder: Path, *, inside: Path | None = None) -> Iterator[Template]:
    try:
        root = None if inside is None else inside.resolve()
        paths = sorted(islice(folder.glob("*.md"), _MOST_FILES))
    except (OSError, ValueError, RuntimeError):
        return
    for path in paths:
        try:
            if not (_NAME.fullmatch(path.stem) and path.is_file()):
                continue
            resolved = path.resolve()
            if root is not None and not resolved.is_relative_to(root):
                continue
            with path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
            text = data.decode("utf-8-sig")
        except (OSError, ValueError, RuntimeError):
            continue
        if len(data) <= _MOST_BYTES:
            yield replace(_template(path.stem, text), path=str(resolved), digest=_digest(data))


def _template(name: str, text: str) -> Template:
    lines = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).split("\n")
    told: dict[str, str] = {}
    if lines[0].rstrip() == "---" and "---" in (rest := [line.rstrip() for line in lines[1:]]):
        end = rest.index("---")
        for line in rest[:end]:
            key, _, value = line.partition(":")
            told[key.strip()] = safe_line(value.strip().strip("\"'"))
        lines = lines[end + 2 :]
    body = "\n".join(lines).strip()
    first = safe_line(body.partition("\n")[0])
    aside = {"true": name, "false": ""}.get(value := told.get("side-question", ""), value)
    aside = aside if not aside or _NAME.fullmatch(aside) else name  # a file is called so
    return Template(name, body, told.get("description") or first, told.get("argument-hint", ""), aside)


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
