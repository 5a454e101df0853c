"""All that an agent sent of a tool call beside its title and its diffs, as labelled texts, each whole. Pure.

The agent's own words for the call (its title, kind and description) decide nothing; these parts are its subject.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from catena_acp.port.session_events import (
    ToolCallChanged,
    ToolDiff,
    ToolOther,
    ToolTerminal,
    ToolText,
)


class PartRole(Enum):
    """What a part is, by the name that it stands under."""

    COMMAND = "command"
    ARGUMENTS = "arguments"  # of a command
    ADDRESS = "address"
    PLACE = "place"
    DIRECTORY = "directory"  # in which it works
    ENVIRONMENT = "environment"
    FILE_TEXT = "text of a file"
    WORDS = "words"  # the agent's own, of what it does
    OPTION = "option"  # changes nothing of what a call of a known kind is about
    UNKNOWN = "unknown"  # no rule knows its name
    LOCATION = "location"  # told beside the input: a place of the call, or a result
    CONTENT = "content"  # told beside the input


_NAMES = {
    PartRole.COMMAND: "command cmd",
    PartRole.ARGUMENTS: "args",
    PartRole.ADDRESS: "url uri urls",
    PartRole.PLACE: (
        "path paths file files filename file_path filepath filePath abs_path absolute_path absolutePath"
        " notebook_path dir directory old_path new_path oldPath newPath source destination src dst from to target"
    ),
    PartRole.DIRECTORY: "cwd workdir working_directory workingDirectory",
    PartRole.FILE_TEXT: (
        "content contents file_text text old_string new_string oldString newString old_str new_str"
        " oldText newText old_text new_text"
    ),
    PartRole.WORDS: "description reason explanation title",
    PartRole.OPTION: (
        "timeout timeout_ms timeoutMs timeout_seconds run_in_background is_background isBackground background"
        " offset limit line start end start_line end_line startLine endLine view_range insert_line replace_all"
        " replaceAll expected_replacements pattern query regex glob include exclude output_mode head_limit recursive"
        " max_results maxResults case_sensitive caseSensitive max_length"
    ),
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}
# Of which each is a part of its own.
_LISTS = frozenset({PartRole.ADDRESS, PartRole.PLACE, PartRole.DIRECTORY})


@dataclass(frozen=True, slots=True)
class SubjectPart:
    """One part of what a request is about: an argument under its own name, a place, a text."""

    label: str
    text: str
    role: PartRole = PartRole.UNKNOWN


def role_of(name: object) -> PartRole:
    """What an argument of this name is."""
    if not isinstance(name, str):
        return PartRole.UNKNOWN
    if name.lower().startswith("env"):
        return PartRole.ENVIRONMENT
    return _ROLES.get(name, PartRole.UNKNOWN)


def parts_of(call: ToolCallChanged) -> Iterator[SubjectPart]:
    """The parts of a call, in the agent's order."""
    raw = call.raw_input
    if isinstance(raw, Mapping):
        yield from arguments_of(raw)
    elif raw is not None:
        yield SubjectPart("input", _text_of(raw))
    for place in call.locations or ():
        yield SubjectPart("place", place.path, PartRole.LOCATION)
    for content in call.content or ():
        match content:
            case ToolDiff(path) if not shows_change(content):
                yield SubjectPart("place", path, PartRole.LOCATION)
            case ToolText(text):
                yield SubjectPart("text", text.strip(), PartRole.CONTENT)
            case ToolTerminal(terminal_id):
                yield SubjectPart("terminal", terminal_id, PartRole.CONTENT)
            case ToolOther(description=description):
                yield SubjectPart("content", description, PartRole.CONTENT)
            case _:
                pass


def shows_change(diff: ToolDiff) -> bool:
    """False for a diff of which no front has a line to show, and so not its file either."""
    return (diff.old or "").splitlines() != diff.new.splitlines()


def arguments_of(raw: Mapping[Any, Any]) -> Iterator[SubjectPart]:
    """The parts of the input of a call."""
    words = _texts(raw.get("args")) if sum(role_of(name) is PartRole.COMMAND for name in raw) == 1 else ()
    for name, value in raw.items():
        role, text = role_of(name), _text_of(value)
        if role is PartRole.COMMAND:
            text = " ".join([text, *map(shlex.quote, words)])
        if role is PartRole.ARGUMENTS and words:
            continue
        for each in (role in _LISTS and _texts(value)) or (text,):
            yield SubjectPart(str(name), each, role)


def _texts(value: object) -> tuple[str, ...]:
    """The texts of a list of nothing else; none of any other value."""
    texts = value if isinstance(value, list | tuple) else ()
    return tuple(texts) if all(isinstance(each, str) for each in texts) else ()


def _text_of(value: Any) -> str:
    """A value whole: words as a shell would read them, anything else that is no text as JSON."""
    if isinstance(value, str):
        return value
    if words := _texts(value):
        return shlex.join(words)
    return json.dumps(value, ensure_ascii=False, default=str)
