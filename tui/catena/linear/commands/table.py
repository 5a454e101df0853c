"""The commands of linear mode, from the table of acts, in the order in which its help reads them."""

from __future__ import annotations

from collections.abc import Sequence

from catena.acts.table import FrontCommand, by_names, command_with_rest, commands_of
from catena.acts.unknown import refused_argument, unknown_command

# What is named nowhere here comes last.
_ORDER = """
    help show read find save plan linear
    edit retry stop wait allow reject send draft drop quote inputs queue continue unqueue attach detach clear
    fork versions tree follow lineage ask compare undo redo reflog checkpoint label checkpoints rewind
    history open new tabs tab next-question close rename pin archive delete takeover cd add-dir export
    context chain usage files changes blame background stderr btw
    agents agent model mode options login logout permissions mcp templates settings quit
""".split()  # noqa: SIM905 - a line for each subject
COMMANDS: tuple[FrontCommand, ...] = tuple(
    sorted(
        commands_of("lines"), key=lambda each: _ORDER.index(each.name) if each.name in _ORDER else len(_ORDER)
    )
)
_BY_NAME = by_names(COMMANDS)


def command_of(name: str, argument: str = "") -> tuple[FrontCommand | None, str]:
    """Return the command of a name, or that of the verb behind it, and what is left as its argument."""
    return command_with_rest(_BY_NAME, name, argument)


def refusal_of(command: FrontCommand, argument: str) -> str:
    """Why a command is not done; "" if it takes what was typed behind it."""
    return refused_argument(command, argument, COMMANDS)


def unknown_text(name: str, others: Sequence[str]) -> str:
    """Why a command is not sent that is unknown; ``others`` are the names of templates and of the agent's commands."""
    return unknown_command(name, COMMANDS, "Nothing was sent", others)
