"""The prompt templates that hold in a place: what each says, and the answer to those of the project."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from catena.acts.access import answer_template
from catena.screens.common.list_screen import ListScreen, list_bindings
from catena.screens.common.page import PageScreen
from catena.settings.templates import FOLDER, PROJECT_FOLDER, KnownTemplates, Template, named_template
from catena.text.formats import from_home
from catena.text.safe_text import safe
from catena.widgets.foot import SheetKey
from catena.widgets.row_list import Row, RowList, Tone, Word
from catena.widgets.sheet_head import Subject

_OWN = "Yours need no answer."


class TemplatesScreen(ListScreen[str | None]):
    """The templates, those of the project first."""

    HEADING = "Prompt templates"
    EMPTY = (
        f"no templates; put a Markdown file into {PROJECT_FOLDER}, or into {FOLDER} beside your settings file"
    )
    KEYS = (
        SheetKey("{template_read}", "read", "read"),
        SheetKey("{template_allow}", "allow for catena run", "allow"),
        SheetKey("{template_refuse}", "do not use it", "refuse"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = list_bindings(KEYS)

    def __init__(
        self,
        known: KnownTemplates,
        *,
        taken: Collection[str],
        subject: Subject,
    ) -> None:
        """``taken`` are the names of commands."""
        super().__init__(subject)
        self._known = known
        self._taken = taken
        self._templates: Sequence[Template] = ()

    def on_mount(self) -> None:
        """Read the templates; a folder that is far away does not hold up the sheet."""
        self.run_worker(self.attempt(self._read()))

    async def _read(self) -> None:
        self._templates = await self._known.read()
        self.show_head(self.HEADING, count=f"{len(self._templates):,}")
        self.row_list.show(
            list(template_rows(self._templates, self._known.own, self._taken)), keep=self.chosen_key
        )

    @property
    def _chosen(self) -> Template | None:
        key = self.chosen_key
        return self._templates[int(key)] if key is not None and int(key) < len(self._templates) else None

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

    def action_allow(self) -> None:
        """Let `catena run` send the project's template under the cursor, as it is now."""
        self._answer(allowed=True)

    def action_refuse(self) -> None:
        """Do not use the project's template under the cursor, as it is now."""
        self._answer(allowed=False)

    def _answer(self, *, allowed: bool) -> None:
        template = self._chosen
        if template is None:
            return
        if not template.of_project:
            self.say(_OWN)
            return

        async def answer() -> None:
            said = await answer_template(template, self._known.store, allowed=allowed)
            await self._read()
            self.say(said)

        self.run_worker(self.attempt(answer()))


def template_rows(templates: Sequence[Template], own: Path, taken: Collection[str]) -> Iterator[Row]:
    """A row for each template, with what becomes of it."""
    for at, each in enumerate(templates):
        mark, state = _state(each, templates, taken)
        yield Row(
            str(at),
            f"/{each.name} {each.hint}".rstrip(),
            note=" · ".join(filter(None, (state, each.description))),
            mark=mark,
            group=f"This project ({PROJECT_FOLDER})" if each.of_project else from_home(str(own / FOLDER)),
            dim=each.refused,
        )


def _state(template: Template, templates: Sequence[Template], taken: Collection[str]) -> tuple[Word, str]:
    if template.name in taken:
        return Word("○", Tone.FAINT), "hidden by the command of that name"
    if template.refused:
        return Word("○", Tone.FAINT), "not used"
    if named_template(templates, template.name) is not template:
        return Word("○", Tone.FAINT), "hidden by the project's"
    if template.of_project and template.allowed is None:
        return Word("?", Tone.ASKING), "catena run waits for you to allow it"
    return Word("✓", Tone.MUTED), ""
