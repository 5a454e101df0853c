"""The prompt templates that hold in a place: what each says, and the answer to those of the project."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from catena.acts.settings import answer_template
from catena.screens.common.dialog import ListScreen, list_bindings
from catena.screens.common.page import PageScreen
from catena.settings.templates import (
    FOLDER,
    PROJECT_FOLDER,
    KnownTemplates,
    Template,
    named_template,
    own_copy,
)
from catena.terminal.programs import EditorFailed, edit_file
from catena.text.formats import from_home
from catena.text.safe_text import safe
from catena.widgets.row_list import Row, RowList, Tone, Word
from catena.widgets.sheet_edges import SheetKey, Subject

_UNASKED = "Only the project's templates need an answer."
_NONE = f"Put a Markdown file into {PROJECT_FOLDER}, or into {FOLDER} beside your settings file."
_SHIPPED = "Shipped with Catena"
_PROJECT = f"This project ({PROJECT_FOLDER})"


class TemplatesScreen(ListScreen[str | None]):
    """The templates, those of the project first."""

    HEADING = "Prompt templates"
    KEYS = (
        SheetKey("{template_read}", "read", "read"),
        SheetKey("{template_edit}", "edit", "edit"),
        SheetKey("{template_allow}", "allow to be sent unread", "allow"),
        SheetKey("{template_refuse}", "do not use it", "refuse"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = list_bindings(KEYS)

    def __init__(
        self,
        known: KnownTemplates,
        *,
        taken: Collection[str],
        environment: Mapping[str, str],
        subject: Subject,
    ) -> None:
        """``taken`` are the names of commands; ``environment`` names the editor."""
        super().__init__(subject)
        self._known = known
        self._taken = taken
        self._environment = environment
        self._templates: Sequence[Template] = ()

    def on_mount(self) -> None:
        """Read the templates; a folder that is far away does not hold up the sheet."""
        self.run_worker(self.attempt(self._begin()))

    async def _begin(self) -> None:
        await self._read()
        if all(each.shipped for each in self._templates):
            self.say(_NONE)

    async def _read(self, keep: str | None = None) -> None:
        self._templates = await self._known.read()
        self.show_head(self.HEADING, count=f"{len(self._templates):,}")
        self.row_list.show(
            list(template_rows(self._templates, self._known.own, self._taken)), keep=keep or self.chosen_key
        )

    @property
    def _chosen(self) -> Template | None:
        return next((each for each in self._templates if _key(each) == self.chosen_key), None)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Show the template that was clicked."""
        event.stop()
        self.action_read()

    def action_read(self) -> None:
        """Show the text of the template under the cursor."""
        if (template := self._chosen) is not None:
            self.app.push_screen(
                PageScreen(f"/{template.name}", Content(safe(template.text)), subject=self.subject)
            )

    def action_edit(self) -> None:
        """Open the template under the cursor in the person's editor; of a shipped one, a copy of their own."""
        if (template := self._chosen) is not None:
            self.run_worker(self._edit(template))

    async def _edit(self, template: Template) -> None:
        try:
            copy = await asyncio.to_thread(own_copy, template, self._known.own)
            await edit_file(self.app, str(copy), 1, self._environment)
        except OSError as error:
            self.say(f"{self._known.own / FOLDER} cannot be created: {error.strerror}")
        except EditorFailed as error:
            self.say(str(error))
        else:
            self.say(f"Your own copy: {from_home(str(copy))}." if template.shipped else "")
        await self._read(_key(replace(template, shipped=False)))

    def action_allow(self) -> None:
        """Allow the project's template under the cursor to be sent unread, as it is now."""
        self._answer(allowed=True)

    def action_refuse(self) -> None:
        """Do not use the project's template under the cursor, as it is now."""
        self._answer(allowed=False)

    def _answer(self, *, allowed: bool) -> None:
        template = self._chosen
        if template is None:
            return
        if not template.of_project:
            self.say(_UNASKED)
            return

        async def answer() -> None:
            said = await self.finish(answer_template(template, self._known.store, allowed=allowed))
            await self._read()
            self.say(said)

        self.run_worker(self.attempt(answer()))


def _key(template: Template) -> str:
    return str((template.of_project, template.shipped, template.name))


def template_rows(templates: Sequence[Template], own: Path, taken: Collection[str]) -> Iterator[Row]:
    """A row for each template, with what becomes of it."""
    yours = from_home(str(own / FOLDER))
    for each in templates:
        mark, state = _state(each, templates, taken)
        yield Row(
            _key(each),
            each.usage,
            note=" · ".join(filter(None, (state, "side question" if each.aside else "", each.description))),
            mark=mark,
            group=_PROJECT if each.of_project else _SHIPPED if each.shipped else yours,
            dim=each.refused,
        )


def _state(template: Template, templates: Sequence[Template], taken: Collection[str]) -> tuple[Word, str]:
    if template.name in taken:
        return Word("○", Tone.FAINT), "hidden by the command of that name"
    if template.refused:
        return Word("○", Tone.FAINT), "not used"
    if (used := named_template(templates, template.name)) is not None and used is not template:
        return Word("○", Tone.FAINT), "hidden by the project's" if used.of_project else "hidden by yours"
    if template.waits:
        return Word("?", Tone.ASKING), f"{'' if template.aside else 'catena run '}waits for you to allow it"
    return Word("✓", Tone.MUTED), ""
