"""The subject of a permission request: one value, made once of all that the agent sent.

The question, the rules and the record speak of it. The agent's words for it (title, kind, description) stand beside it
and decide nothing; anything that cannot be certain is a doubt, with its reason.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from catena_acp.diff import says_patch, shows_text
from catena_acp.permissions.commands import Words, commands_of
from catena_acp.permissions.parts import PartRole, SubjectPart, parts_of, role_of, shows_change
from catena_acp.port.session_events import ToolCallChanged, ToolDiff, ToolText

_NO_PATH = "no path given"
_OUTSIDE = "a path outside"
_DEEPEST_TEXT = 40
_LONGEST_NAME = 40  # characters of an argument's name in a doubt
_PATCHES = ("diff", "patch")  # names of arguments
_MOST_DIFFS = 20  # that are compared with what stands beside them
_DOUBTFUL = ("sandbox", "escalat", "elevat", "environ", "stdin", "patch")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
_MOST = 200  # paths that are looked at
_DEEPEST = 6

Resolve = Callable[[str], str]

PATH_KINDS = ("read", "edit", "delete", "move", "search")
KINDS = (*PATH_KINDS, "execute", "fetch", "any")


@dataclass(frozen=True, slots=True)
class AgentWords:
    """The agent's words for a call; they decide nothing, except that a rule for another kind never allows it."""

    title: str
    kind: str
    description: str


@dataclass(frozen=True, slots=True)
class RequestSubject:
    """What a tool call is about: everything that was sent of it, and what of that is certain.

    ``doubt`` says why it is not certain, and is empty if it is. Paths are relative to the project, with symbolic links
    and `..` resolved; one outside of it is a doubt. ``places`` are absolute, as far as they can be resolved.
    """

    call: ToolCallChanged
    words: AgentWords
    parts: tuple[SubjectPart, ...]  # all beside the diffs, each whole
    diffs: tuple[ToolDiff, ...]  # that change a line
    mentions: tuple[str, ...]  # every text of its input, whole: what it may be about if it is in doubt
    paths: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    commands: tuple[Words, ...] = ()
    hosts: tuple[str, ...] = ()
    doubt: str = ""
    main: tuple[SubjectPart, ...] = ()  # what it is about by its kind: commands, addresses or places
    shown: tuple[SubjectPart, ...] = ()  # the parts that neither these nor a diff says already, none twice

    @property
    def kind(self) -> str:
        """The kind of tool, as the agent calls it; "" if it does not."""
        return self.words.kind

    @property
    def caution(self) -> str:
        """Why no rule can allow it, so that it is always asked, short enough for a narrow row; "" if one can."""
        return f"Always asks: {self.doubt}" if self.doubt else ""


def subject_of(call: ToolCallChanged, project: str, resolve: Resolve = os.path.realpath) -> RequestSubject:
    """The subject of a call in ``project``, an absolute directory. Looks at links in the file system.

    Whatever was cut or could not be read, and whatever stands under a key that is not known, is a doubt.
    """
    found = _certain(call, project, resolve)
    subject = unresolved_subject(call)
    main = tuple(_main(subject, project))
    return replace(
        subject,
        paths=found.paths,
        places=_places(call, project, resolve),
        commands=found.commands,
        hosts=found.hosts,
        doubt=call.doubt or found.doubt or _doubt_of_keys(call),
        main=main,
        shown=tuple(_unsaid(subject, main, project)),
    )


def unresolved_subject(call: ToolCallChanged) -> RequestSubject:
    """The subject of a call that is only looked at: in doubt, since nothing was resolved. Pure."""
    raw = call.raw_input if isinstance(call.raw_input, Mapping) else {}
    description = raw.get("description")
    return RequestSubject(
        call,
        AgentWords(call.title or "", call.kind or "", description if isinstance(description, str) else ""),
        tuple(parts_of(call)),
        tuple(part for part in call.content or () if isinstance(part, ToolDiff) and shows_change(part)),
        tuple(_mentions(call)),
        doubt="not looked at",
    )


def only_reads(subject: RequestSubject) -> bool:
    """True if a call certainly does nothing but read or search, wherever that is."""
    if subject.kind not in ("read", "search"):
        return False
    searches = subject.kind == "search" and bool(subject.call.raw_input) and subject.doubt == _NO_PATH
    return not subject.doubt or subject.doubt == _OUTSIDE or searches


_KNOWN = {  # what the input of a kind may hold, beside words and options
    "execute": frozenset({PartRole.COMMAND, PartRole.ARGUMENTS, PartRole.DIRECTORY}),
    "fetch": frozenset({PartRole.ADDRESS}),
}
_OF_FILES = frozenset({PartRole.FILE_TEXT, PartRole.PLACE, PartRole.DIRECTORY})
_OF_FETCH = ("prompt", "format")


def _doubt_of_keys(call: ToolCallChanged) -> str:
    """Why an argument may be more than its kind of tool tells; "" if each is known."""
    if not isinstance(call.raw_input, Mapping):
        return ""
    diffs = [part for part in call.content or () if isinstance(part, ToolDiff)]
    known = _KNOWN.get(call.kind or "", _OF_FILES) | {PartRole.WORDS, PartRole.OPTION}
    for key, value in call.raw_input.items():
        role = role_of(key)
        if value and role not in known and not (call.kind == "fetch" and key in _OF_FETCH):
            if _is_in_diffs(SubjectPart(str(key), str(value), role), diffs):
                continue  # OpenCode's patch, which says the same as its diff
            return f"“{str(key)[:_LONGEST_NAME]}” is unknown"
        plain = str if role in (PartRole.FILE_TEXT, PartRole.WORDS) else object
        if value and (
            not isinstance(value, plain) or (role is PartRole.OPTION and isinstance(value, Mapping))
        ):
            return f"“{key}” is of another type"
    return ""


_BESIDE_INPUT = frozenset({PartRole.LOCATION, PartRole.CONTENT})
_SAYS_ITSELF = _BESIDE_INPUT | {PartRole.COMMAND, PartRole.ADDRESS, PartRole.PLACE, PartRole.WORDS}


_MAIN = {
    "execute": frozenset({PartRole.COMMAND}),
    "fetch": frozenset({PartRole.ADDRESS}),
    "search": frozenset({PartRole.PLACE}),  # its other places are results
    **dict.fromkeys(("read", "edit", "delete", "move"), frozenset({PartRole.PLACE, PartRole.LOCATION})),
}


def _main(subject: RequestSubject, project: str) -> Iterator[SubjectPart]:
    """The parts that a call of its kind is about; a place that is told again beside the input stands once."""
    roles = _MAIN.get(subject.kind, frozenset())
    places: set[str] = set()
    changed = [SubjectPart("change", diff.path, PartRole.LOCATION) for diff in subject.diffs]
    for part in (*subject.parts, *(changed if PartRole.LOCATION in roles else ())):
        place = _place(part, project)
        if part.role in roles and part.text and not (part.role is PartRole.LOCATION and place in places):
            places.add(place)
            yield part


def _place(part: SubjectPart, project: str) -> str:
    return os.path.normpath(os.path.join(project, part.text))  # noqa: PTH118 - a text, never opened


def _unsaid(subject: RequestSubject, main: Sequence[SubjectPart], project: str) -> Iterator[SubjectPart]:
    said = {"", *(part.text for part in main), *(diff.path for diff in subject.diffs)}
    places = {_place(part, project) for part in main}
    told: set[str] = set()  # by parts: what stands beside the input repeats it, and has no name of its own
    for part in subject.parts:
        if part in main or (part.role is PartRole.LOCATION and _place(part, project) in places):
            continue
        repeated = part.role in _SAYS_ITSELF and part.text in said
        if part.role in _BESIDE_INPUT:
            repeated = repeated or part.text in told
        told.add(part.text)
        if not repeated and not _is_in_diffs(part, subject.diffs[:_MOST_DIFFS]):
            yield part


def _is_in_diffs(part: SubjectPart, diffs: Sequence[ToolDiff]) -> bool:
    """True if a part is nothing but a text of a file, or a patch, that a diff shows."""
    for diff in diffs:
        if part.label in _PATCHES and says_patch(part.text, diff.path, diff.old, diff.new):
            return True
        if part.role is PartRole.FILE_TEXT and (
            part.text in (diff.old, diff.new) or shows_text(part.text, diff.old, diff.new)
        ):
            return True
    return False


def _mentions(call: ToolCallChanged) -> Iterator[str]:
    """Every text of the input, keys too, and every path."""
    yield from _texts(call.raw_input, 0)
    yield from (place.path for place in call.locations or ())
    for part in call.content or ():
        if isinstance(part, ToolDiff):
            yield part.path
        elif isinstance(part, ToolText):
            yield part.text


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > _DEEPEST_TEXT:
        yield str(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, depth + 1)


@dataclass(frozen=True, slots=True)
class _Certain:
    """What of a call is certain, or why nothing is."""

    paths: tuple[str, ...] = ()
    commands: tuple[Words, ...] = ()
    hosts: tuple[str, ...] = ()
    doubt: str = ""


def _certain(call: ToolCallChanged, project: str, resolve: Resolve) -> _Certain:
    kind = call.kind or ""
    raw: Mapping[str, Any] = call.raw_input if isinstance(call.raw_input, Mapping) else {}
    diffs = [part.path for part in call.content or () if isinstance(part, ToolDiff)]
    if call.raw_input is not None and not isinstance(call.raw_input, Mapping):
        return _Certain(doubt="input without names")
    if more := next((str(key) for key, value in raw.items() if value and _is_doubtful(key)), ""):
        return _Certain(doubt=f"“{more[:_LONGEST_NAME]}” asks for more")
    roles = {role_of(key) for key in raw}
    has_command, has_url = PartRole.COMMAND in roles, PartRole.ADDRESS in roles
    match kind:
        case "execute":
            places = [value for value in _values(raw, PartRole.DIRECTORY) if value]
            commands = _commands(raw) if not (diffs or has_url) else None
            if commands is None:
                return _Certain(doubt="not a plain command" if has_command else "no command given")
            inside = _inside(places, project, resolve)
            return _Certain(commands=commands, doubt="" if inside is not None else "it runs elsewhere")
        case "fetch":
            hosts = _hosts(raw) if not (diffs or has_command) else None
            return _Certain(
                hosts=hosts or (),
                doubt="" if hosts else "no plain address" if has_url else "no address given",
            )
        case kind if kind in PATH_KINDS:
            if has_command or has_url or (diffs and kind in ("read", "search")):
                return _Certain(doubt="input of another kind")
            named = [*diffs, *(place.path for place in call.locations or ()), *_paths(raw)]
            if not named:
                return _Certain(doubt=_NO_PATH)
            inside = _inside(named, project, resolve)
            return _Certain(paths=inside or (), doubt="" if inside else _OUTSIDE)
        case _:
            return _Certain(doubt="no rules for its kind")


def subject_of_text(kind: str, text: str, project: str) -> RequestSubject:
    """What a request of ``kind`` with one path, command or address would be about."""
    key = {"execute": "command", "fetch": "url"}.get(kind, "path")
    return subject_of(ToolCallChanged("", kind=kind, raw_input={key: text}), project)


def _values(raw: Mapping[str, Any], role: PartRole) -> list[Any]:
    return [value for key, value in raw.items() if role_of(key) is role]


def _commands(raw: Mapping[str, Any]) -> tuple[Words, ...] | None:
    given = _values(raw, PartRole.COMMAND)
    if len(given) != 1:
        return None
    words, more = given[0], raw.get("args")
    if isinstance(words, str) and not more:
        return commands_of(words)
    parts = [words] if isinstance(words, str) else words
    if not isinstance(parts, list | tuple) or not isinstance(more or [], list | tuple):
        return None
    parts = [*parts, *(more or [])]
    if not parts or not all(isinstance(each, str) and each.isprintable() for each in parts[:1]):
        return None
    if not all(isinstance(each, str) and "\0" not in each for each in parts) or not parts[0]:
        return None
    if (script := shell_script(parts)) is not None:
        return commands_of(script)
    return (tuple(parts),) if " " not in parts[0] else None


def shell_script(words: Sequence[str]) -> str | None:
    """What a shell is given to run by words; None if they are another command."""
    shell = len(words) == 3 and PurePosixPath(words[0]).name in _SHELLS and words[1] in ("-c", "-lc")
    return words[2] if shell else None


def _hosts(raw: Mapping[str, Any]) -> tuple[str, ...] | None:
    given: list[object] = []
    for value in _values(raw, PartRole.ADDRESS):
        given += value if isinstance(value, list | tuple) else [value]
    hosts = [_host(each) for each in given]
    return tuple(host for host in hosts if host) if hosts and all(hosts) else None


def _host(url: object) -> str | None:
    """The host of a plain web address; None where programs might read another one."""
    if not isinstance(url, str) or not (url.isascii() and url.isprintable()) or "\\" in url or " " in url:
        return None
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    return host if parts.scheme in ("http", "https") and "@" not in parts.netloc else None


def _paths(value: object, key: str = "", depth: int = 0) -> Iterator[object]:
    """Everything in the input that is or looks like a path; what cannot be read as one is given as None."""
    if depth > _DEEPEST:
        yield None
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if _looks_like_path(name):
                yield name
            yield from _paths(inner, str(name), depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _paths(inner, key, depth + 1)
    elif role_of(key) in (PartRole.PLACE, PartRole.DIRECTORY):
        yield value if isinstance(value, str) and value else None
    elif role_of(key) not in (PartRole.FILE_TEXT, PartRole.WORDS) and _looks_like_path(value):
        yield value


def _looks_like_path(value: object) -> bool:
    return isinstance(value, str) and (value.startswith(("/", "~")) or ".." in value.split("/"))


def _inside(paths: Sequence[object], project: str, resolve: Resolve) -> tuple[str, ...] | None:
    """The paths relative to the project, links and `..` resolved; None if one is outside, or is none."""
    if len(paths) > _MOST:
        return None
    root = resolve(project)
    found: list[str] = []
    for path in paths:
        if not isinstance(path, str) or not path.isprintable() or path.startswith("~"):
            return None
        try:
            real = PurePosixPath(resolve(os.path.join(root, path)))  # noqa: PTH118 - joined, not read
        except (OSError, ValueError):
            return None
        if not real.is_relative_to(root):
            return None
        found.append(str(real.relative_to(root)))
    return tuple(dict.fromkeys(found))


def _places(call: ToolCallChanged, project: str, resolve: Resolve) -> tuple[str, ...]:
    """Every path that the call names, absolute and resolved, as far as that can be done."""
    named = [
        *(part.path for part in call.content or () if isinstance(part, ToolDiff)),
        *(place.path for place in call.locations or ()),
        *_paths(call.raw_input if isinstance(call.raw_input, Mapping) else {}),
    ]
    found: list[str] = []
    for path in named[:_MOST]:
        if isinstance(path, str):
            with contextlib.suppress(OSError, ValueError):
                found.append(resolve(os.path.join(project, path)))  # noqa: PTH118 - joined, not read
    return tuple(dict.fromkeys(found))


def _is_doubtful(key: object) -> bool:
    return not isinstance(key, str) or key == "env" or any(word in key.lower() for word in _DOUBTFUL)
