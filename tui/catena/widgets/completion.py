"""Completion of a beginning slash, Catena's commands and then the agent's, and of files; fuzzy, best first."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events

from catena.text.names import Fit, Fits
from catena.text.safe_text import safe_line
from catena.widgets.commands import CommandWords
from catena.widgets.row_list import Row, RowList

if TYPE_CHECKING:
    from catena.settings.templates import Template
    from catena_acp.port.session_events import AgentCommand


_READ = 2_000  # entries of one directory
_OFFERED = 200
_FILES = ("/attach ",)  # what takes a path
_DIRECTORIES = ("/cd ", "/add-dir ")  # what takes that of a directory
PATH = "path:"  # the keys of rows that are paths


def path_rows(text: str, directory: str) -> list[Row]:
    """The rows for a text that is a command with the beginning of a path; a directory's path ends with a slash."""
    command = next((each for each in (*_FILES, *_DIRECTORIES) if text.startswith(each)), None)
    if command is None or "\n" in text:
        return []
    typed = text.removeprefix(command).lstrip()
    before, slash, beginning = typed.rpartition("/")
    shown_before = before + slash
    try:
        place = Path(directory, Path(shown_before or ".").expanduser())
        with os.scandir(place) as entries:
            found = [(each.name, each.is_dir()) for each in islice(entries, _READ)]
    except (OSError, ValueError, RuntimeError):
        return []
    fitting = [
        (name, is_directory)
        for name, is_directory in found
        if name.lower().startswith(beginning.lower())
        and (beginning or not name.startswith("."))
        and (is_directory or command in _FILES)
    ]
    fitting.sort(key=lambda each: (each[0].startswith("."), each[0].lower()))
    if [name for name, is_directory in fitting if not is_directory] == [beginning] and len(fitting) == 1:
        return []  # nothing is missing
    return [
        Row(
            f"{PATH}{command}{shown_before}{name}{'/' if is_directory else ''}",
            f"{name}{'/' if is_directory else ''}",
        )
        for name, is_directory in fitting[:_OFFERED]
    ]


_OWN = "own:"
_MORE = "more:"  # ours, with a name behind which more may stand
_AGENT = "agent:"
_TEMPLATE = "template:"
_ASIDE = "aside:"  # a template that is asked at once
_PATH = "path:"
_FILE = "file:"


def file_rows(paths: Sequence[str], typed: str) -> list[Row]:
    """The rows for files that are mentioned: the name, behind it the directory, and what is typed in bold."""
    directory, _, name = typed.rpartition("/")
    rows = []
    for path in paths:
        cut = path.rstrip("/").rfind("/") + 1
        below = path.lower().startswith(f"{directory.lower()}/") if directory else False
        found = letters_found(path.lower(), (name if below or not directory else typed).lower(), cut)
        rows.append(
            Row(
                _FILE + path,
                path[cut:],
                note=path[:cut].rstrip("/"),
                found=frozenset(at - cut for at in found if at >= cut),
                note_found=frozenset(at for at in found if at < cut),
            )
        )
    return rows


def letters_found(path: str, typed: str, name_at: int) -> list[int]:
    """The places of what is typed in a path: together where it is so, in the name before elsewhere."""
    for start in (name_at, 0):
        at = path.find(typed, start)
        if at >= 0:
            return list(range(at, at + len(typed)))
    for start in (name_at, 0):
        places, at = [], start - 1
        for letter in typed:
            at = path.find(letter, at + 1)
            if at < 0:
                break
            places.append(at)
        else:
            return places
    return []


class CompletionList(RowList):
    """List of the commands that fit what is typed; hidden where none does."""

    DEFAULT_CSS = """
    CompletionList {
        height: auto;
        max-height: 8;
        display: none;
        &.-open { display: block; }
    }
    """

    def __init__(self, commands: Sequence[CommandWords], *, id: str | None = None) -> None:
        """``commands`` are Catena's own."""
        super().__init__(id=id)
        self._commands = commands
        self._typed = ""  # what the rows fit

    def use(self, commands: Sequence[CommandWords]) -> None:
        """Offer these commands from the next key on: their keys were changed."""
        self._commands = commands

    @property
    def is_open(self) -> bool:
        """True while there is something to take."""
        return self.has_class("-open")

    def offer(
        self,
        text: str,
        agent_commands: Sequence[AgentCommand],
        directory: str,
        templates: Sequence[Template] = (),
        names: Sequence[str] = (),
    ) -> None:
        """Show what ``text`` can become; relative paths are below ``directory``, and ``names`` may stand behind it."""
        rows = completions(text, self._commands, agent_commands, templates)
        rows = rows or name_rows(text, self._commands, names)
        if text.startswith("/attach "):
            rows = path_rows(text, directory) + rows
        self._offer(rows, text)

    def names_of(self, text: str) -> str:
        """The kind of names that may stand behind a text; "" for none."""
        wanted = names_wanted(text, self._commands)
        return wanted[0].names_of if wanted else ""

    def offer_files(self, paths: Sequence[str], typed: str) -> None:
        """Show files that fit what is typed."""
        self._offer(file_rows(paths, typed), typed)

    def _offer(self, rows: Sequence[Row], typed: str) -> None:
        """Show rows, the best first; only a person who moved the cursor since they typed finds it where it was."""
        keep = self.kept if self.is_open and typed == self._typed else None
        self._typed = typed
        self.set_class(bool(rows), "-open")
        if rows:
            self.show(rows, keep=keep)

    def move(self, step: int) -> None:
        """Move the cursor, past what is hidden by a command of the same name: it cannot be sent."""
        super().move(step)
        while any(not row.dim for row in self.rows) and self.chosen and self.chosen.dim:
            super().move(1 if step > 0 else -1)

    def on_click(self, event: events.Click) -> None:
        """Leave a row alone that cannot be sent."""
        found = self.row_at(event.y)
        if found is not None and self.rows[found[0]].dim:
            event.prevent_default()

    @property
    def chosen_file(self) -> str | None:
        """The path of the chosen row, where that is a file to be mentioned."""
        row = self.chosen if self.is_open else None
        return row.key.removeprefix(_FILE) if row is not None and row.key.startswith(_FILE) else None

    def close(self) -> None:
        """Hide it, until something else is typed."""
        self.remove_class("-open")

    def move_on(self) -> None:
        """Choose what a verb or a name that is half typed can become, unless the person has chosen."""
        row, typed = self.chosen, self._typed
        if row is not None and not self.taken_up and " " in typed:
            self.move(int(row.key == _OWN + typed[1:]))

    @property
    def is_meant(self) -> bool:
        """True if Enter may run the chosen row: the person moved to it, typed it in full, or as its beginning.

        What discards is not run for a beginning, and nothing is for letters inside a name or half an alias.
        """
        row = self.chosen
        if row is None or self.taken_up:
            return row is not None
        typed = self._typed[1:].rstrip().casefold()
        if not typed:
            return False
        if row.key.startswith(_OWN):
            name = row.key.removeprefix(_OWN)
            command = next((each for each in self._commands if name == (each.words or each.name)), None)
            if command is None or typed in (
                each.casefold() for each in (name, command.name, *command.aliases)
            ):
                return True  # no command: one with the beginning of a verb, as it is typed
            return not command.discards and name.casefold().startswith(typed)
        if row.key.startswith((_AGENT, _ASIDE)):
            return row.key.partition(":")[2].casefold().startswith(typed)
        return True  # a template only becomes text, and a path is what was typed

    def completed(self) -> tuple[str, bool] | None:
        """The text that the chosen row stands for, and whether it can be sent as it is."""
        row = self.chosen
        if row is None:
            return None
        if row.key.startswith(_PATH):
            path = row.key.removeprefix(_PATH)
            return path, not path.endswith("/")
        if row.key.startswith(_MORE):
            return f"/{row.key.removeprefix(_MORE)} ", False
        for kind in (_AGENT, _TEMPLATE, _ASIDE):
            if row.key.startswith(kind):
                name = f"/{row.key.removeprefix(kind)}"
                takes_more = row.label != name and not (kind != _AGENT and row.label.startswith(f"{name} ["))
                return name + (" " if takes_more else ""), not takes_more
        # Ours ask for what is missing, so that they can all be sent at once.
        command = row.key.removeprefix(_OWN)
        return f"/{command}", True


def completions(
    text: str,
    own_commands: Sequence[CommandWords],
    agent_commands: Sequence[AgentCommand],
    templates: Sequence[Template] = (),
) -> list[Row]:
    """The rows for one unfinished word behind a slash, or behind a command with verbs; empty for any other text."""
    if not text.startswith("/"):
        return []
    name, behind, verb = text[1:].partition(" ")
    if any(character.isspace() or character == "/" for character in name + verb):
        return []
    if behind:
        return _verb_rows(name, verb, own_commands)
    templates = [each for each in templates if not each.refused]
    theirs = {*(each.name for each in agent_commands), *(each.name for each in templates)}
    own = [
        (
            (each.words, each.name, *each.aliases, *({name} & {*each.meant} - theirs)),
            _own_row(each),
        )
        for each in own_commands
        if (each.words == each.name or name) and (each.words or name in (each.name, *each.aliases))
    ]
    taken = {name for each in own_commands for name in (each.name, *each.aliases)}
    by = dict.fromkeys(taken, "Catena has a command")
    prompts = []
    for template in templates:
        prompts.append(((template.name,), _template_row(template, hidden_by=by.get(template.name, ""))))
        has = "the project has" if template.of_project else "Catena has" if template.shipped else "you have"
        by.setdefault(template.name, f"{has} a template")
    agents = [((each.name,), _agent_row(each, hidden_by=by.get(each.name, ""))) for each in agent_commands]
    # Enter takes the first: a better fit stands before a worse one, whosever it is, and what cannot be sent behind all.
    ranked = (
        *_ranked(text[1:], own, 0),
        *_ranked(text[1:], prompts, 1),
        *_ranked(text[1:], agents, 2),
    )
    return [row for _, row in sorted(ranked, key=lambda each: (each[1].dim, each[0]))]


def _verb_rows(name: str, verb: str, commands: Sequence[CommandWords]) -> list[Row]:
    """The verbs that begin as typed; what Enter would do without one stands first."""
    verbs = [_own_row(each) for each in commands if each.words.startswith(f"{name} {verb}")]
    if not verbs or any(row.key == f"{_OWN}{name} {verb}" for row in verbs):
        return verbs
    plain = next(each for each in commands if each.name == name)
    typed = f"{name} {verb}".rstrip()
    note = plain.summary if plain.argument or not verb else ""  # else it is refused
    return [Row(_OWN + typed, f"/{typed}", detail=plain.key, note=note), *verbs]


def names_wanted(text: str, commands: Sequence[CommandWords]) -> tuple[CommandWords, str] | None:
    """The command of a text behind which names complete, and what is typed of them; None for any other text."""
    if not text.startswith("/") or "\n" in text:
        return None
    for each in commands:
        for name in (each.words, each.name, *each.aliases) if each.names_of else ():
            if name and text.startswith(f"/{name} "):
                return each, text.removeprefix(f"/{name} ").lstrip()
    return None


def name_rows(text: str, commands: Sequence[CommandWords], names: Sequence[str]) -> list[Row]:
    """The rows for a command with the beginning of a name: what Enter does with what is typed stands first."""
    wanted = names_wanted(text, commands)
    if wanted is None:
        return []
    command, typed = wanted
    several = command.names_of == "agents"
    *before, beginning = typed.split(" ") if several else (typed,)
    if not {*before} <= {*names, ""}:
        return []  # the prompt has begun
    head = text.removesuffix(beginning)
    fitting = [
        each
        for each in names
        if each.casefold().startswith(beginning.casefold()) and (beginning or each not in before)
    ]
    if fitting in ([], [beginning]):
        return []  # nothing is missing
    plain = Row(_OWN + text[1:].rstrip(), text.rstrip(), detail=command.key, note=command.summary)
    return [
        plain,
        *(
            Row(f"{_MORE if several else _OWN}{head[1:]}{each}", safe_line(f"{head}{each}"))
            for each in fitting
            if each != beginning
        ),
    ]


def _ranked(
    typed: str, candidates: Sequence[tuple[tuple[str, ...], Row]], group: int
) -> Iterator[tuple[tuple[float, ...], Row]]:
    """The candidates that fit, each with its rank: the lower, the better."""
    if not typed:
        yield from (((group,), row) for _, row in candidates)
        return
    fits = Fits(typed)
    for names, row in candidates:
        # Whoever begins to type another name than the one in the list sees it behind those that begin so.
        rank, name = min(
            ((fit, group, name != names[0], loose), name) for name in names for fit, loose in (fits(name),)
        )
        if rank[0] is not Fit.NONE:
            yield (
                rank,
                row if name == names[0] or not names[0] else replace(row, label=f"{row.label} = {name}"),
            )


def _own_row(command: CommandWords) -> Row:
    words = command.words or command.name
    label = f"/{words}" + (f" {command.argument}" if command.argument else "")
    return Row(_OWN + words, label, detail=command.key, note=command.summary)


def _template_row(template: Template, *, hidden_by: str) -> Row:
    whose = "project's" if template.of_project else "Catena's" if template.shipped else "your"
    detail = f"{whose} {'side question' if template.aside else 'prompt'}"
    key = (_ASIDE if template.aside else _TEMPLATE) + template.name
    if hidden_by:
        return Row(key, template.usage, detail=detail, note=_hidden(hidden_by), dim=True)
    return Row(key, template.usage, detail=detail, note=template.description)


def _agent_row(command: AgentCommand, *, hidden_by: str) -> Row:
    label = f"/{command.name}" + (f" {command.hint}" if command.hint else "")
    if hidden_by:
        return Row(_AGENT + command.name, label, detail="from the agent", note=_hidden(hidden_by), dim=True)
    return Row(_AGENT + command.name, label, detail="from the agent", note=command.description)


def _hidden(by: str) -> str:
    return f"hidden: {by} of that name"
