"""Answers to a shell that completes: what fits at the cursor of a command line, as its scripts read it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from catena.cli.parser import CommandTable, Parser, Values, behind_equals
from catena.errors import ExitStatus
from catena_store.database.location import default_path


class Paths(StrEnum):
    """The kind of paths that the shell itself completes in addition to the candidates."""

    NONE = "none"
    FILES = "files"
    DIRECTORIES = "directories"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that fits, and what it is."""

    text: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """All that fits at the cursor."""

    candidates: Sequence[Candidate] = ()
    paths: Paths = Paths.NONE
    option: str = ""  # `--agent=`, where the candidates stand behind it


def complete(table: CommandTable, before: Sequence[str], current: str) -> Completion:
    """What fits for the current word, behind the words before it; these begin after the program's name."""
    name, rest = _command(table, before)
    if not name and not rest and not current.startswith("-"):
        commands = _fitting((Candidate(*each) for each in table.summaries.items()), current)
        if commands:
            return Completion(commands)
    if name and not rest and (acts := _fitting(_acts(table, name), current)):
        return Completion([*acts, *_positional(table, _TypedWords(table.parser(name)), current).candidates])
    line = _TypedWords(table.parser(name))
    for word in rest:
        line.take(word)
    if line.waiting is not None and not (line.optional and current.startswith("-")):
        return _values(table, line, line.waiting, current)
    if line.options_end:
        return _positional(table, line, current)
    if current.startswith("--") and "=" in current:
        option, _, begun = current.partition("=")
        action = line.option(option)
        found = Completion() if action is None else _values(table, line, action, begun)
        return Completion(found.candidates, found.paths, f"{option}=")
    if current.startswith("-"):
        return Completion(_fitting(_options(line), current))
    found = _positional(table, line, current)
    if found.candidates or found.paths is not Paths.NONE or current:
        return found
    return Completion(_fitting(_options(line), current))


@dataclass(slots=True)
class _TypedWords:
    """The words of a command, as far as they are typed."""

    parser: Parser
    waiting: argparse.Action | None = None  # the option whose value comes next
    optional: bool = False  # which may be left out
    options_end: bool = False  # `--` was typed
    words: list[str] = field(default_factory=list)  # without options
    given: dict[str, str] = field(default_factory=dict)
    seen: list[argparse.Action] = field(default_factory=list)

    def option(self, name: str) -> argparse.Action | None:
        """The option of a name such as `--agent`."""
        return next((each for each in self.parser._actions if name in each.option_strings), None)

    def take(self, word: str) -> None:
        """Take the next word that is typed in full."""
        if self.waiting is not None:
            waiting, self.waiting = self.waiting, None
            if not (self.optional and word.startswith("-")):
                self.given[waiting.dest] = word
                return
        if not self.options_end and word == "--":
            self.options_end = True
        elif not self.options_end and word.startswith("-") and word != "-":
            self._take_option(word)
        else:
            self._take_word(word)

    def _take_option(self, word: str) -> None:
        name, equals, value = word.partition("=")
        action = self.option(name)
        if action is None:
            return
        self.seen.append(action)
        if equals:
            self.given[action.dest] = value
        elif action.nargs != 0:
            self.given.setdefault(action.dest, "")
            self.waiting = None if behind_equals(action) else action
            self.optional = action.nargs in ("?", "*")

    def _take_word(self, word: str) -> None:
        action = self.positional
        if action is not None:
            self.given.setdefault(action.dest, word)
        self.words.append(word)

    @property
    def positional(self) -> argparse.Action | None:
        """What the next word without a dash is."""
        actions = [each for each in self.parser._actions if not each.option_strings]
        if len(self.words) < len(actions):
            return actions[len(self.words)]
        return actions[-1] if actions and actions[-1].nargs in ("*", "+") else None


def _command(table: CommandTable, before: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The longest name of a command that the words begin with, and the words behind it; the screen's is empty."""
    for length in (2, 1):
        name = " ".join(before[:length])
        if len(before) >= length and name in table.names:
            return name, before[length:]
    return "", before


def _acts(table: CommandTable, name: str) -> Iterable[Candidate]:
    for each in table.names:
        if each.startswith(f"{name} "):
            about = (table.parser(each).description or "").split(". ")[0].split(":")[0]
            yield Candidate(each.removeprefix(f"{name} "), about)


def _options(line: _TypedWords) -> Iterable[Candidate]:
    excluded = {
        id(each)
        for group in line.parser._mutually_exclusive_groups
        if any(seen in group._group_actions for seen in line.seen)
        for each in group._group_actions
    }
    for action in line.parser._actions:
        repeated = isinstance(action, argparse._AppendAction)
        if action.help is argparse.SUPPRESS or (
            not repeated and (action in line.seen or id(action) in excluded)
        ):
            continue
        if action.option_strings:
            yield Candidate(action.option_strings[-1], action.help or "")


def _positional(table: CommandTable, line: _TypedWords, current: str) -> Completion:
    action = line.positional
    return Completion() if action is None else _values(table, line, action, current)


def _values(table: CommandTable, line: _TypedWords, action: argparse.Action, current: str) -> Completion:
    if action.choices is not None:
        return Completion(_fitting((Candidate(str(each)) for each in action.choices), current))
    from catena.cli.completion import values

    match line.parser.values.get(action.dest):
        case Values.CONVERSATION:
            return Completion(_printable(values.conversations(default_path(), current)))
        case Values.MESSAGE:
            # What the line names as its conversation; None is the newest of the directory.
            named = line.given.get("id") or line.given.get("resume") or None
            found = values.messages(default_path(), named, current, cwd=str(Path.cwd()))
            return Completion(_printable(found))
        case Values.AGENT:
            return Completion(_fitting(_printable(values.agents()), current))
        case Values.AGENTS:
            before, comma, _ = current.rpartition(",")
            further = [
                (f"{before}{comma}{name}", about)
                for name, about in values.agents()
                if name not in before.split(",")
            ]
            return Completion(_fitting(_printable(further), current))
        case Values.SETTING:
            return Completion(_fitting(_printable(values.settings()), current))
        case Values.OF_SETTING:
            known = values.values_of(line.given.get("key", ""))
            return Completion(_fitting(_printable((each, "") for each in known), current))
        case Values.KIND:
            from catena_acp.permissions.subject import KINDS

            return Completion(_fitting((Candidate(each) for each in KINDS), current))
        case Values.COMMAND:
            return Completion(_fitting((Candidate(*each) for each in table.summaries.items()), current))
        case Values.DIRECTORY:
            return Completion(paths=Paths.DIRECTORIES)
        case Values.FILE:
            return Completion(paths=Paths.FILES)
        case None:
            return Completion()


def _fitting(found: Iterable[Candidate], start: str) -> list[Candidate]:
    return [each for each in found if each.text.startswith(start)]


def _printable(found: Iterable[tuple[str, str]]) -> list[Candidate]:
    """Without words that nobody can type, and without a character in a description that a terminal would obey."""
    return [
        Candidate(text, " ".join("".join(one if one.isprintable() else " " for one in about).split()))
        for text, about in found
        if text.isprintable()
    ]


_PLAIN = frozenset("%+,-./:=@_^")  # beside letters and digits


@dataclass(frozen=True, slots=True)
class BashLine:
    """A line up to the cursor."""

    words: Sequence[str]  # behind the program, without the current one
    current: str  # without quotes
    quote: str  # that is open at the cursor
    kept: int  # characters of the current word that bash does not replace

    def insert(self, word: str) -> str:
        """What bash has to put in the place of that which it replaces, so that the word stands there."""
        rest = word[self.kept :]
        match self.quote:
            case "'":
                return rest.replace("'", "'\\''")
            case '"':
                return "".join(f"\\{one}" if one in '"\\$`' else one for one in rest)
            case _:
                return "".join(one if one.isalnum() or one in _PLAIN else f"\\{one}" for one in rest)


def read_line(line: str, breaks: str) -> BashLine:
    """Read a line up to the cursor; ``breaks`` are the characters at which bash begins to replace (COMP_WORDBREAKS)."""
    words: list[str] = []
    current: str | None = None
    quote, kept, at = "", 0, 0
    while at < len(line):
        one = line[at]
        at += 1
        if quote:
            if one == quote:
                quote = ""
            elif one == "\\" and quote == '"' and line[at : at + 1] in tuple('"\\$`'):
                current = (current or "") + line[at]
                at += 1
            else:
                current = (current or "") + one
        elif one == "\\":
            current = (current or "") + line[at : at + 1]
            at += 1
        elif one.isspace():
            if current is not None:
                words.append(current)
            current, kept = None, 0
        else:
            current = current or ""
            if one in "'\"":
                quote, kept = one, len(current)
            else:
                current += one
                kept = len(current) if one in breaks else kept
    return BashLine(words[1:], current or "", quote, kept)


_LISTING = frozenset({"33", "63", "64"})  # COMP_TYPE: all that fits is shown, and nothing inserted
_ABOUT = 60  # characters


def print_answer(table: CommandTable, arguments: Sequence[str]) -> int:
    """Print what fits: for bash behind its line, type and word breaks, else behind the words as they are."""
    match arguments:
        case ["bash", text, kind, breaks]:
            line = read_line(text, breaks)
            found = complete(table, line.words, line.current)
            print(found.paths, found.option)
            for each in _bash(line, found.option, _once(found.candidates), listing=kind in _LISTING):
                print(each)
        case [_, *before, current]:
            found = complete(table, before, current)
            print(found.paths, found.option)
            for candidate in _once(found.candidates):
                print(candidate.text, candidate.about[:_ABOUT], sep="\t")
        case _:
            pass
    return ExitStatus.ANSWERED


def _bash(line: BashLine, option: str, found: Sequence[Candidate], *, listing: bool) -> Iterable[str]:
    for each in found:
        text = line.insert(option + each.text)
        yield f"{text}  ({each.about[:_ABOUT]})" if listing and each.about and len(found) > 1 else text


def _once(found: Iterable[Candidate]) -> Sequence[Candidate]:
    return list({each.text: each for each in reversed(list(found))}.values())[::-1]
