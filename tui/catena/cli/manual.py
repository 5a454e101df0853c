"""The manual page catena(1), made from the parsers in the language of man(7)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from catena.cli.parser import CommandTable, Parser, behind_equals

_PLAIN = {"●": "*", "○": "o"}  # for terminals without Unicode


def manual_page(
    table: CommandTable, version: str, *, files: Mapping[str, str], variables: Mapping[str, str]
) -> str:
    """The page as text of roff: the screen's options, then every command, then what they have in common."""
    screen = table.parser("")
    lines = [
        f'.TH CATENA 1 "" "catena {version}" "User Commands"',
        *(rf".fchar \[u{ord(mark):04X}] {plain}" for mark, plain in _PLAIN.items()),
        ".nh",
        ".ad l",
        ".SH NAME",
        rf"catena \- {_text('terminal chat for agents that speak ACP')}",
        ".SH SYNOPSIS",
        *_synopsis(screen),
        ".SH DESCRIPTION",
        _text(screen.description or ""),
        ".PP",
        "Without a command, catena opens the screen in a directory and restores its tabs.",
        "Conversations are kept in one file and do not depend on the sessions of agents.",
        ".SH OPTIONS",
        *_options(screen),
        ".SH COMMANDS",
        "Each command explains itself with",
        r".BR \-\-help .",
        "An",
        ".I ID",
        "is the id of a conversation, the start of it, or a title.",
    ]
    for name in table.names:
        lines += _command(name, table.parser(name))
    lines += [".SH EXIT STATUS", *_statuses(screen)]
    lines += [
        ".SH FILES",
        *(row for path, what in files.items() for row in _entry(rf"\fI{_text(path)}\fR", what)),
    ]
    lines += [".SH ENVIRONMENT"]
    lines += [row for name, what in variables.items() for row in _entry(rf"\fB{_text(name)}\fR", what)]
    lines += [".SH EXAMPLES", *_examples(screen)]
    return "\n".join(lines) + "\n"


def _command(name: str, parser: Parser) -> Iterator[str]:
    yield f".SS catena {_text(name)}"
    yield from _synopsis(parser)
    yield ".PP"
    yield _text(parser.description or "")
    if parser.details:
        yield ".PP"
        yield _text(parser.details)
    yield from _options(parser)
    if parser.examples:
        yield ".PP"
        yield "Examples:"
        yield from _examples(parser)
    if parser.statuses:
        yield ".PP"
        yield _text(
            "Exit status: " + ", ".join(f"{status} {text}" for status, text in parser.statuses.items()) + "."
        )


def _synopsis(parser: Parser) -> Iterator[str]:
    formatted = parser.format_usage().removeprefix("usage: ")
    # One line for each form of the command, however wide the terminal of the build is.
    for form in " ".join(formatted.split()).replace(" catena ", "\ncatena ").splitlines():
        yield ".PP"
        yield rf"\fB{_text(form.strip())}\fR"


def _options(parser: Parser) -> Iterator[str]:
    for action in parser._actions:
        if action.help is argparse.SUPPRESS:
            continue
        yield from _entry(_signature(action), action.help or "")


def _signature(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None:
        value = "|".join(map(str, action.choices))
    written = rf"\fI{_text(value)}\fR"
    if not action.option_strings:
        return written
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in action.option_strings)
    if behind_equals(action):
        return f"{names}[={written}]"
    match action.nargs:
        case 0:
            return names
        case "?" | "*":
            return f"{names} [{written}]"
        case _:
            return f"{names} {written}"


def _statuses(parser: Parser) -> Iterator[str]:
    for status, what in parser.statuses.items():
        yield from _entry(rf"\fB{status}\fR", what)


def _examples(parser: Parser) -> Iterator[str]:
    for line, does in parser.examples:
        yield from _entry(rf"\fB{_text(line)}\fR", does)


def _entry(tag: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield tag
    yield _text(text[:1].upper() + text[1:].rstrip(".") + ".")


def _text(text: str) -> str:
    """Text that roff prints as it stands."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    escaped = escaped.replace("~", r"\(ti").replace("^", r"\(ha").replace('"', r"\(dq")
    escaped = "".join(one if one.isascii() else rf"\[u{ord(one):04X}]" for one in escaped)
    return "\n".join(rf"\&{line}" if line.startswith(".") else line for line in escaped.splitlines())
