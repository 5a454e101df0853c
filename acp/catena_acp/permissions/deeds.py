"""What a tool call does, as a set by which its states before and after an answer are compared. Pure."""

from __future__ import annotations

import json
import os.path
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from catena_acp.diff import line_diff
from catena_acp.permissions.parts import parts_of
from catena_acp.permissions.subject import (
    COMMAND_KEYS,
    PATH_KEYS,
    PLACE_KEYS,
    PLAIN_KEYS,
    SHELLS,
    URL_KEYS,
)
from catena_acp.port.session_events import ToolCallChanged, ToolDiff

_WORDS = frozenset({"description", "reason", "explanation", "title"})  # the agent's own, of what it does
_ABOUT_FILES = frozenset({"read", "edit", "delete", "move"})  # whose places are no results
_LONGEST = 4_000  # characters of the words that are kept


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that a call does: runs, opens, changes a line of a file, passes an argument."""

    kind: str  # command, address, place, directory, environment, line, or the name of an argument
    text: str
    of: str = ""  # the file of a line


@dataclass(frozen=True, slots=True)
class Became:
    """A call that became something else than what was allowed, in words."""

    asked: str
    did: str


def changed_labels(before: ToolCallChanged, now: ToolCallChanged) -> tuple[str, ...]:
    """What is not as it was before, of all that a question about a call shows; empty if nothing is."""
    labels = ["title"] if before.title != now.title else []
    labels += ["kind"] if before.kind != now.kind else []
    old, new = set(parts_of(before)), set(parts_of(now))
    labels += [part.label for part in (*parts_of(now), *parts_of(before)) if (part in old) != (part in new)]
    labels += ["change"] if _diffs(before) != _diffs(now) else []
    labels += ["certainty"] if before.doubt != now.doubt else []
    return tuple(dict.fromkeys(labels))


def became(allowed: Sequence[ToolCallChanged], now: ToolCallChanged, directory: str) -> Became | None:
    """How a call in ``directory`` is something else than each that was ``allowed`` together; None if it is not."""
    known = {deed for call in allowed for deed in deeds_of(call, directory)}
    titles = [call.title or "" for call in allowed]
    shown = {deed.of for deed in known if deed.kind == "line"}
    keys = {deed.kind for deed in known} | _ALWAYS
    more = [
        deed
        for deed in deeds_of(now, directory)
        if deed not in known
        and deed.kind in keys
        and (deed.kind != "line" or deed.of in shown)
        and not any(_names(title, deed, directory) for title in titles)
    ]
    retitled = (
        now.kind == "execute" and not known and not deeds_of(now, directory) and now.title not in titles
    )
    if not (more or retitled):
        return None
    asked, did = words_of(allowed[-1]), words_of(now)
    if asked == did:
        others = ", ".join(
            dict.fromkeys("other lines" if each.kind == "line" else each.kind for each in more)
        )
        did = f"{did} ({others})"
    return Became(asked, did)


def tells_of(call: ToolCallChanged, done: ToolCallChanged, directory: str) -> bool:
    """True if a call tells of what was ``done``: of the same command or file, and of all that was done to it."""
    main = "command" if done.kind == "execute" else "place"
    wanted = [deed for deed in deeds_of(done, directory) if deed.kind == main]
    known = deeds_of(call, directory)
    named = all(deed in known or _names(call.title or "", deed, directory) for deed in wanted)
    return bool(wanted) and named and became([call], done, directory) is None


_ALWAYS = frozenset({"command", "address", "place", "directory", "environment", "line"})


def words_of(call: ToolCallChanged) -> str:
    """The call in a line: its command, address or files, else its title."""
    deeds = list(deeds_of(call, ""))
    for kind in ("command", "address", "place"):
        if texts := [deed.text for deed in deeds if deed.kind == kind]:
            return ", ".join(dict.fromkeys(texts))[:_LONGEST]
    return (call.title or call.kind or "a tool call")[:_LONGEST]


def deeds_of(call: ToolCallChanged, directory: str) -> dict[Deed, None]:
    """All deeds of a call, in its order; paths are absolute, below ``directory`` if that is given."""
    return dict.fromkeys(_deeds(call, directory))


def _deeds(call: ToolCallChanged, directory: str) -> Iterator[Deed]:
    raw = call.raw_input
    if isinstance(raw, Mapping):
        yield from _of_arguments(raw, directory)
    elif raw is not None:
        yield Deed("input", json.dumps(raw, ensure_ascii=False, default=str))
    if call.kind in _ABOUT_FILES:
        yield from (Deed("place", _path(place.path, directory)) for place in call.locations or ())
    for diff in _diffs(call):
        path = _path(diff.path, directory)
        yield Deed("place", path)
        for hunk in line_diff(diff.old or "", diff.new).hunks:
            yield from (
                Deed("line", f"{line.sign}{line.text.rstrip()}", path)
                for line in hunk.lines
                if line.sign != " "
            )


def _of_arguments(raw: Mapping[Any, Any], directory: str) -> Iterator[Deed]:
    for key, value in raw.items():
        if not value or key in _WORDS or key in PLAIN_KEYS or key == "args":
            continue
        many = value if isinstance(value, list | tuple) else [value]
        if key in COMMAND_KEYS:
            yield Deed("command", _command(value, raw.get("args")))
        elif key in URL_KEYS:
            yield from (Deed("address", str(each)) for each in many)
        elif key in PATH_KEYS or key in PLACE_KEYS:
            kind = "directory" if key in PLACE_KEYS else "place"
            paths = [_path(str(each), directory) for each in many]
            home = _path(directory, "")  # agents name it, or do not
            yield from (Deed(kind, path) for path in paths if kind == "place" or path != home)
        elif str(key).lower().startswith("env"):
            yield Deed("environment", json.dumps(value, ensure_ascii=False, default=str))
        else:
            yield Deed(str(key), json.dumps(value, ensure_ascii=False, default=str))


def _command(value: object, arguments: object) -> str:
    """The command line, the same for each way in which agents write it: as a text, as words, within a shell."""
    more = [str(each) for each in arguments] if isinstance(arguments, list | tuple) else []
    if isinstance(value, list | tuple):
        words = [*map(str, value), *more]
        if len(words) == 3 and PurePosixPath(words[0]).name in SHELLS and words[1] in ("-c", "-lc"):
            return words[2].strip()
        return shlex.join(words)
    return " ".join([str(value).strip(), *map(shlex.quote, more)])


def _path(path: str, directory: str) -> str:
    return os.path.normpath(os.path.join(directory, path))  # noqa: PTH118 - a text of the agent, never opened


def _names(title: str, deed: Deed, directory: str) -> bool:
    """True if the title that was asked with says all of a command, an address or a path."""
    if deed.kind not in ("command", "address", "place", "directory"):
        return False
    texts = (
        {deed.text, os.path.relpath(deed.text, directory)}
        if deed.kind in ("place", "directory")
        else {deed.text}
    )
    bare = title.strip().strip("`")
    return any(bare == text or bare.endswith((f" {text}", f"`{text}")) for text in texts)


def _diffs(call: ToolCallChanged) -> list[ToolDiff]:
    return [content for content in call.content or () if isinstance(content, ToolDiff)]
