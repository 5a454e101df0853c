"""What a beginning slash can become: our commands, then the agent's; fuzzy, best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from catena.commands import OWN_COMMANDS, OwnCommand, own_command
from catena.widgets.row_list import Row, RowList

if TYPE_CHECKING:
    from catena_acp.events import Command

_OWN = "own:"
_AGENT = "agent:"
_PATH = "path:"


class CompletionList(RowList):
    """The commands that fit what is typed; hidden where none does."""

    DEFAULT_CSS = """
    CompletionList {
        height: auto;
        max-height: 8;
        display: none;
        border-top: solid $border;
        &.-open { display: block; }
    }
    """

    @property
    def is_open(self) -> bool:
        """True while there is something to take."""
        return self.has_class("-open")

    def offer(self, text: str, agent_commands: Sequence[Command], directory: str) -> None:
        """Show what ``text`` can become; relative paths in it are below ``directory``."""
        rows = completions(text, agent_commands)
        if not rows and text.startswith("/attach "):
            from catena.path_completion import path_rows

            rows = path_rows(text, directory)
        self.set_class(bool(rows), "-open")
        if rows:
            self.show(rows)

    def close(self) -> None:
        """Hide it, until something else is typed."""
        self.remove_class("-open")

    def completed(self) -> tuple[str, bool] | None:
        """The text that the chosen row stands for, and whether it can be sent as it is."""
        row = self.chosen
        if row is None:
            return None
        if row.key.startswith(_PATH):
            path = row.key.removeprefix(_PATH)
            return path, not path.endswith("/")
        if row.key.startswith(_AGENT):
            takes_more = row.label != f"/{row.key.removeprefix(_AGENT)}"
            return f"/{row.key.removeprefix(_AGENT)}" + (" " if takes_more else ""), not takes_more
        # Ours ask for what is missing, so that they can all be sent at once.
        command = row.key.removeprefix(_OWN)
        return f"/{command}", True


def completions(text: str, agent_commands: Sequence[Command]) -> list[Row]:
    """The rows for a text that is one unfinished word behind a slash; empty for any other text."""
    if not text.startswith("/") or any(character.isspace() or character == "/" for character in text[1:]):
        return []
    own = [((each.name, *each.aliases), _own_row(each)) for each in OWN_COMMANDS]
    agents = [((each.name,), _agent_row(each)) for each in agent_commands]
    return _ranked(text[1:], own) + _ranked(text[1:], agents)


def _ranked(typed: str, candidates: Sequence[tuple[tuple[str, ...], Row]]) -> list[Row]:
    if not typed:
        return [row for _, row in candidates]
    from textual.fuzzy import FuzzySearch

    search = FuzzySearch()

    def score(name: str) -> float:
        if name.startswith(typed):
            return 1_000.0 - len(name)
        return search.match(typed, name)[0]

    scored = [(max(map(score, names)), row) for names, row in candidates]
    return [row for points, row in sorted(scored, key=lambda each: -each[0]) if points > 0]


def _own_row(command: OwnCommand) -> Row:
    label = f"/{command.name}" + (f" {command.argument}" if command.argument else "")
    return Row(_OWN + command.name, label, detail=command.key, note=command.summary)


def _agent_row(command: Command) -> Row:
    label = f"/{command.name}" + (f" {command.hint}" if command.hint else "")
    if own_command(command.name) is not None:
        return Row(
            _AGENT + command.name,
            label,
            detail="the agent's",
            note="hidden: ours has the same name",
            dim=True,
        )
    return Row(_AGENT + command.name, label, detail="the agent's", note=command.description)
