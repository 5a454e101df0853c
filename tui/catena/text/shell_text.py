"""Shell commands in a prompt: a text that is one, and a block with the output of one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from catena.text.safe_text import safe

SIGN = "!"
_BLOCKS = re.compile(r"(?:(?P<fence>`{3,})console\n\$ .*?\n(?P=fence)\n\n*)*", re.DOTALL)
_FENCE = re.compile("`{3,}")
# What programs write for a terminal: colours and movements, titles and links, and other sequences.
_SEQUENCES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]"
)
_OVERSTRUCK = re.compile("[^\n]\x08")
_REWRITTEN = re.compile("[^\n]*\r(?!\n|$)")  # a line of which a later one took the place


@dataclass(frozen=True, slots=True)
class ShellText:
    """A command, and the text before it: blocks of commands that ran already."""

    before: str
    command: str


def may_be_shell_text(first_line: str) -> bool:
    """False for the first line of a text that is no command."""
    return first_line.startswith((SIGN, "```"))


def shell_text(text: str) -> ShellText | None:
    """The command that a text is: it begins with an exclamation mark, or does so behind the output of others."""
    blocks = _BLOCKS.match(text)
    at = blocks.end() if blocks is not None else 0
    if not text.startswith(SIGN, at):
        return None
    return ShellText(text[:at], text[at + len(SIGN) :].strip())


def plain_output(output: str) -> str:
    """The output of a program as it would stand on a terminal, without anything that a terminal obeys."""
    output = _SEQUENCES.sub("", output)
    while "\x08" in output and output != (shorter := _OVERSTRUCK.sub("", output)):
        output = shorter
    return safe(_REWRITTEN.sub("", output.replace("\r\n", "\n"))).strip("\n")


def output_block(command: str, output: str, end: str) -> str:
    """The block of a command for a prompt: the command, its output, and how it ended unless `end` is ""."""
    said = plain_output(output)
    fence = "`" * max(3, *(len(found) + 1 for found in _FENCE.findall(f"{command}\n{said}")), 3)
    lines = [f"{fence}console", "$ " + safe(command).replace("\n", "\n> ")]
    if said:
        lines.append(said)
    if end:
        lines.append(f"[{end}]")
    return "\n".join([*lines, fence, ""])
