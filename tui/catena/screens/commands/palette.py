"""The palette: every command, in groups, those that are used most first; templates, and those of the agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType

from catena.keys.bindings import priority_bindings
from catena.screens.common.picker import Picker, fuzzy_match, words_match
from catena.settings.templates import Template, used_templates
from catena.widgets.commands import CommandWords
from catena.widgets.row_list import Row, Tone, Word
from catena.widgets.sheet_edges import SheetKey, Subject
from catena_acp.port.session_events import AgentCommand

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Conversation", ("new", "history", "rename", "pin", "close", "clear", "archive", "delete", "queue")),
    ("Branches", ("edit", "retry", "fork", "ask", "compare", "tree", "undo", "checkpoint", "rewind")),
    ("Agent", ("agent", "model", "context", "btw", "stop", "login", "permissions", "mcp")),
    ("Work", ("files", "usage", "attach", "templates", "cd")),
    ("Transcript", ("find", "copy", "export", "side")),
    ("Catena", ("help", "settings", "quit")),
)
_SHOWN = 3  # of the agent's commands, before the others are unfolded
_FOLDED = "more"  # the key of the row that unfolds them
_OWN, _AGENT, _TEMPLATE, _ASIDE = "own:", "agent:", "template:", "aside:"
_BROWSED = " while browsing"
_HIDDEN = "hidden by Catena's own"


class CommandPalette(Picker):
    """Every command; its result is what `chosen_command` reads."""

    BINDINGS: ClassVar[list[BindingType]] = [*priority_bindings(palette_complete="complete")]

    def __init__(
        self,
        own: Sequence[CommandWords],
        announced: Sequence[AgentCommand],
        *,
        values: Mapping[str, str],
        subject: Subject,
        agent: str,
        templates: Sequence[Template] = (),
    ) -> None:
        """``announced`` are the agent's; ``values``: what is in force now, by the command that changes it."""
        names = {each.name for each in own}
        self._own = [*own_rows(own, values), *template_rows(templates, names)]
        self._unlisted = [_own_row(each, values) for each in own if each.words != each.name]
        by = {each.name: "hidden by a template" for each in templates if not each.refused}
        by.update(dict.fromkeys(names, _HIDDEN))
        self._announced = agent_rows(announced, by, agent)
        super().__init__(
            "Commands",
            [*self._own, *_folded(self._announced)],
            keys=(SheetKey("{palette_complete}", "complete", "complete"), SheetKey("{help}", "help", "help")),
            enter="run",
            match=self._matching,
            subject=subject,
        )

    @property
    def total(self) -> int:
        """How many commands there are, folded ones included."""
        return len(self._own) + len(self._announced)

    def _matching(self, text: str, rows: Sequence[Row]) -> Sequence[Row]:
        """What is typed finds folded and unlisted commands too: first by name, then by what they do; without groups."""
        if not text:
            return rows
        every = [*self._own, *self._unlisted, *self._announced]
        named = fuzzy_match(text, every)
        keys = {row.key for row in named}
        described = [row for row in words_match(text, every) if row.key not in keys]
        return [replace(row, group="") for row in [*named, *described]]

    def take(self, key: str) -> None:
        """Close the palette with a command, or unfold those of the agent."""
        if key == _FOLDED:
            first = self._announced[_SHOWN].key
            self.show_rows([*self._own, *self._announced])
            self.row_list.show(self._all, keep=first, columns=self._columns)
        else:
            self.dismiss(key)

    def action_complete(self) -> None:
        """Put the beginning of the command into the composer."""
        if (key := self.chosen_key) == _FOLDED:
            self.take(key)
        elif key is not None:
            self.dismiss(_AGENT + key.partition(":")[2])


def chosen_command(key: str) -> tuple[str, bool]:
    """The name of the command that a key of the palette stands for; True if it is to be run, and not to be written."""
    name = key.partition(":")[2]
    return (f"templates use {name}", True) if key.startswith(_ASIDE) else (name, key.startswith(_OWN))


def own_rows(own: Sequence[CommandWords], values: Mapping[str, str]) -> list[Row]:
    """The rows of Catena's commands, in groups."""
    by_name = {each.name: each for each in own}
    return [
        _own_row(by_name[name], values, group) for group, names in GROUPS for name in names if name in by_name
    ]


def _own_row(command: CommandWords, values: Mapping[str, str], group: str = "") -> Row:
    words = command.words or command.name
    return Row(
        _OWN + words,
        f"/{words}",
        note=command.summary,
        detail=values.get(command.name) or key_words(command.key),
        group=group,
        hidden=" ".join((command.name, *command.aliases)),
    )


def template_rows(templates: Sequence[Template], taken: Collection[str]) -> list[Row]:
    """The rows of the prompt templates, of each name the one that is used; not to be chosen where it is ``taken``."""
    return [
        Row(
            (_ASIDE if each.aside else _TEMPLATE) + each.name,
            f"/{each.name}",
            note=each.description,
            detail=_HIDDEN if each.name in taken else each.hint,
            dim=each.name in taken,
            group="Prompt templates",
        )
        for each in used_templates(templates).values()
    ]


def agent_rows(announced: Sequence[AgentCommand], taken: Mapping[str, str], agent: str) -> list[Row]:
    """The rows of the agent's commands; where another one has the name, which ``taken`` says, none is to be chosen."""
    return [
        Row(
            _AGENT + each.name,
            f"/{each.name}",
            note=each.description,
            detail=taken.get(each.name) or each.hint or "",
            dim=each.name in taken,
            group=f"From {agent}",
        )
        for each in announced
    ]


def key_words(key: str) -> str:
    """The key of a command, as it stands on the right: the first of several, and where it is pressed."""
    first = key.split(", ")[0]
    return f"browse {first.removesuffix(_BROWSED)}" if first.endswith(_BROWSED) else first


def _folded(rows: Sequence[Row]) -> list[Row]:
    if len(rows) <= _SHOWN + 1:
        return list(rows)
    more = Row(
        _FOLDED,
        f"{len(rows) - _SHOWN} more",
        mark=Word("▸", Tone.FAINT),
        dim=True,
        group=rows[0].group,
    )
    return [*rows[:_SHOWN], more]
