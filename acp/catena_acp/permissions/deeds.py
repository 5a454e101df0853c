"""What a tool call does, as a set by which its subjects before and after an answer are compared. Pure."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catena_acp.diff import line_diff
from catena_acp.permissions.parts import PartRole, SubjectPart
from catena_acp.permissions.subject import KINDS, PATH_KINDS, RequestSubject, shell_script

_ABOUT_FILES = frozenset({"read", "edit", "delete", "move"})  # whose places are no results
_MAIN_OF = {"execute": "command", "fetch": "address", **dict.fromkeys(PATH_KINDS, "place")}
_MAIN = ("command", "address", "place")
# Counted also if nothing such was asked for.
_ALWAYS = frozenset({*_MAIN, "directory", "environment", "line"})
_NOTHING = frozenset({"", "{}", "[]", "null", "false"})
_LONGEST = 4_000  # characters of the words that are kept


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that a call does: runs, opens, changes a line of a file, passes an argument."""

    kind: str  # command, address, place, directory, environment, line, or the name of an argument in quotes
    text: str
    of: str = ""  # the file of a line


@dataclass(frozen=True, slots=True)
class Became:
    """A call that became something else than what was allowed, in words."""

    asked: str
    did: str


def changed_labels(before: RequestSubject, now: RequestSubject) -> tuple[str, ...]:
    """The labels of a question's parts that are not as they were before; empty if nothing changed.

    Another title alone counts only if nothing but the title says what the call does.
    """
    labels = ["kind"] if before.kind != now.kind else []
    old, new = set(before.parts), set(now.parts)
    labels += [part.label for part in (*now.parts, *before.parts) if (part in old) != (part in new)]
    labels += ["change"] if before.diffs != now.diffs else []
    labels += ["certainty"] if before.call.doubt != now.call.doubt else []
    wanted = _MAIN_OF.get(now.kind)
    told = any(deed.kind == wanted for deed in deeds_of(now, ""))
    if before.words.title != now.words.title and (labels or not told):
        labels.insert(0, "title")
    return tuple(dict.fromkeys(labels))


def became(allowed: Sequence[RequestSubject], now: RequestSubject, directory: str) -> Became | None:
    """How a call in ``directory`` is something else than each that was ``allowed`` together; None if it is not."""
    known = {deed for subject in allowed for deed in deeds_of(subject, directory)}
    titles = [subject.words.title for subject in allowed]
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
    nothing = now.kind == "execute" and not known and not deeds_of(now, directory)
    if not more and not (nothing and now.words.title not in titles):
        return None
    asked, did = words_of(allowed[-1]), words_of(now)
    if asked == did:
        others = ", ".join(
            dict.fromkeys("other lines" if each.kind == "line" else each.kind for each in more)
        )
        did = f"{did} ({others})"
    return Became(asked, did)


def tells_of(subject: RequestSubject, done: RequestSubject, directory: str) -> bool:
    """True if a call tells of what was ``done``: of the same command or file, and of all that was done to it."""
    main = "command" if done.kind == "execute" else "place"
    wanted = [deed for deed in deeds_of(done, directory) if deed.kind == main]
    known = deeds_of(subject, directory)
    named = all(deed in known or _names(subject.words.title, deed, directory) for deed in wanted)
    return bool(wanted) and named and became([subject], done, directory) is None


def about(subject: RequestSubject) -> str:
    """What a call is about in a line, by its input: its command, address or files; "" if that does not tell."""
    deeds = list(deeds_of(subject, ""))
    for kind in _MAIN:
        if texts := [deed.text for deed in deeds if deed.kind == kind]:
            return ", ".join(dict.fromkeys(texts))[:_LONGEST]
    return ""


def words_of(subject: RequestSubject) -> str:
    """The call in a line: what it is about, else its title."""
    return about(subject) or (subject.words.title or subject.kind or "a tool call")[:_LONGEST]


def deeds_of(subject: RequestSubject, directory: str) -> dict[Deed, None]:
    """All deeds of a call, in its order; paths are absolute, below ``directory`` if that is given."""
    return dict.fromkeys(_deeds(subject, directory))


def _deeds(subject: RequestSubject, directory: str) -> Iterator[Deed]:
    yield from (deed for part in subject.parts for deed in _of_part(part, subject.kind, directory))
    for diff in subject.diffs:
        path = _path(diff.path, directory)
        yield Deed("place", path)
        for hunk in line_diff(diff.old or "", diff.new).hunks:
            yield from (
                Deed("line", f"{line.sign}{line.text.rstrip()}", path)
                for line in hunk.lines
                if line.sign != " "
            )


def _of_part(part: SubjectPart, kind: str, directory: str) -> Iterator[Deed]:
    match part.role:
        case PartRole.UNKNOWN | PartRole.FILE_TEXT:
            yield Deed(f"“{part.label}”", part.text)
        case PartRole.OPTION if kind not in KINDS:
            yield Deed(f"“{part.label}”", part.text)
        case _ if part.text in _NOTHING:
            pass
        case PartRole.COMMAND | PartRole.ARGUMENTS:
            yield Deed("command", _command(part.text))
        case PartRole.ADDRESS:
            yield Deed("address", part.text)
        case PartRole.PLACE:
            yield Deed("place", _path(part.text, directory))
        case PartRole.LOCATION if kind in _ABOUT_FILES:
            yield Deed("place", _path(part.text, directory))
        case PartRole.DIRECTORY:
            # Agents name the conversation's own, or do not.
            if (path := _path(part.text, directory)) != _path(directory, ""):
                yield Deed("directory", path)
        case PartRole.ENVIRONMENT:
            yield Deed("environment", part.text)
        case _:
            pass


def _command(text: str) -> str:
    """The command line, the same for each way in which agents write it: as it is, or within a shell."""
    try:
        words = shlex.split(text)
    except ValueError:
        return text.strip()
    script = shell_script(words) if shlex.join(words) == text else None
    return (script or text).strip()


def _path(path: str, directory: str) -> str:
    return os.path.normpath(os.path.join(directory, path))  # noqa: PTH118 - a text of the agent, never opened


def _names(title: str, deed: Deed, directory: str) -> bool:
    """True if the title that was asked with says all of a command, an address or a path."""
    if deed.kind not in (*_MAIN, "directory"):
        return False
    texts = (
        {deed.text, os.path.relpath(deed.text, directory)}
        if deed.kind in ("place", "directory")
        else {deed.text}
    )
    bare = title.strip().strip("`")
    return any(bare == text or bare.endswith((f" {text}", f"`{text}")) for text in texts)
