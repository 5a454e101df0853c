"""The document of an export: its sections, in the order in which they are written and read, and their fields.

A section is an array of rows, each below what it refers to: a conversation before its messages, a message before those
that hang from it, and both before the links and turns that point at them. Pointers are ids, None is the root.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Protocol

from catena_store.errors import NotImportable
from catena_store.ids import from_milliseconds, to_milliseconds
from catena_store.records import Cause, ContextSource, Kind, LinkState, MessageState, StopReason

MOST_NESTED = 200  # lists and objects within one another
_LONGEST_ID = 200  # characters
_MOST_INTEGER = 2**62
_FIRST_YEAR, _LAST_YEAR = 1970, 9000

Check = Callable[[Any], Any]


class Wrong(Exception):
    """A fault of one value, in words that follow its name."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a row: ``check`` makes a column's value of the document's, ``show`` the reverse.

    ``spoken``: people and agents wrote it, so that a secret may stand in it. A ``needed`` field must be there.
    """

    check: Check
    show: Check = lambda value: value
    spoken: bool = False
    needed: bool = False


Row = Mapping[str, Field]


def read_row(row: Row, what: str, value: object) -> dict[str, Any]:
    """The checked column values of an element; fields that the row does not have are left out.

    Raises NotImportable, in words that begin with ``what``.
    """
    if not isinstance(value, dict):
        raise NotImportable(f"{what} is not an object")
    checked: dict[str, Any] = {}
    for name, field in row.items():
        if field.needed and value.get(name) is None:
            raise NotImportable(f"{what} has no “{name}”")
        try:
            checked[name] = field.check(value.get(name))
        except Wrong as wrong:
            raise NotImportable(f"“{name}” of {what} {wrong}") from wrong
    return checked


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Wrong("is not a text")
    return value


def _line(value: Any) -> str:
    if not _text(value).isprintable() or len(value) > 100 * _LONGEST_ID:
        raise Wrong("is not one line of printable text")
    return str(value)


def _shown_line(value: Any) -> Any:
    """A line with what is not printable replaced: a file's name, or an agent's own id, may be anything."""
    if value is None or value.isprintable():
        return value
    return "".join(each if each.isprintable() else "\ufffd" for each in value)


def _shown_number(value: Any) -> Any:
    return None if value is None or not abs(value) <= 1e300 else value


def _shown_count(value: Any) -> Any:
    return None if value is None else min(max(value, 0), _MOST_INTEGER)


def _id(value: Any) -> str:
    if not _text(value) or not value.isprintable() or len(value) > _LONGEST_ID:
        raise Wrong("is not an id")
    return str(value)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MOST_INTEGER:
        raise Wrong("is not a whole number")
    return int(value)


def _count(value: Any) -> int:
    if value is None:
        return 0
    if _integer(value) < 0:
        raise Wrong("is below zero")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise Wrong("is not a number")
    return float(value)


def _flag(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, bool):
        raise Wrong("is neither true nor false")
    return int(value)


def _time(value: Any) -> int:
    try:
        time = datetime.fromisoformat(_text(value))
    except ValueError as error:
        raise Wrong("is not a time") from error
    if time.tzinfo is None or not _FIRST_YEAR <= time.year <= _LAST_YEAR:
        raise Wrong("is not a time with its zone")
    return to_milliseconds(time.astimezone(UTC))


def time_text(milliseconds: Any) -> str:
    """A time of the tables in ISO 8601, in UTC to the millisecond."""
    return from_milliseconds(milliseconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _object(value: Any) -> str:
    if value is None:
        return "{}"
    if not isinstance(value, dict):
        raise Wrong("is not an object")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Wrong("is not base64") from error


def _optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _shown_or_none(show: Check) -> Check:
    return lambda value: None if value is None else show(value)


def _parsed(value: Any) -> Any:
    """The object of a JSON column; an empty one where the column is damaged."""
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _options(value: Any) -> str:
    kept = {} if value is None else value
    if not isinstance(kept, dict) or not all(isinstance(each, str | bool) for each in kept.values()):
        raise Wrong("is not an object of texts and switches")
    return json.dumps(kept, ensure_ascii=False)


def _paths(value: Any) -> str:
    kept = [] if value is None else value
    if not isinstance(kept, list) or not all(isinstance(each, str) for each in kept):
        raise Wrong("is not a list of texts")
    return json.dumps(kept)


def _shown_options(value: Any) -> Any:
    return {name: each for name, each in _parsed(value).items() if isinstance(each, str | bool)}


def _shown_paths(value: Any) -> Any:
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return []
    return [each for each in parsed if isinstance(each, str)] if isinstance(parsed, list) else []


def choice(known: type[StrEnum] | Collection[str], *, needed: bool = True) -> Field:
    """A field that is one of some words."""
    words = frozenset(str(each) for each in known)

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise Wrong(f"is none of {', '.join(sorted(words))}")
        return value

    return Field(check, needed=True) if needed else Field(_optional(check))


ID = Field(_id, needed=True)
MAYBE_ID = Field(_optional(_id))
NAME = Field(_line, _shown_line, needed=True)
MAYBE_NAME = Field(_optional(_line), _shown_line)
PROFILE = Field(lambda value: "" if value is None else _line(value), _shown_line)
PATH = Field(_line, _shown_line, spoken=True, needed=True)
MAYBE_PATH = Field(_optional(_line), _shown_line, spoken=True)
TEXT = Field(lambda value: "" if value is None else _text(value), spoken=True)
MAYBE_TEXT = Field(_optional(_text), spoken=True)
COUNT = Field(_count, _shown_count)
MAYBE_COUNT = Field(_optional(_count), _shown_count)
MAYBE_NUMBER = Field(_optional(_number), _shown_number)
FLAG = Field(_flag, bool)
TIME = Field(_time, time_text, needed=True)
MAYBE_TIME = Field(_optional(_time), _shown_or_none(time_text))
OBJECT = Field(_object, _parsed, spoken=True)
MAYBE_OBJECT = Field(_optional(_object), _shown_or_none(_parsed))
OPTIONS = Field(_options, _shown_options)
PATHS = Field(_paths, _shown_paths, spoken=True)
BYTES = Field(_bytes, lambda value: base64.b64encode(value).decode("ascii"), needed=True)


def sound(value: Any, rewrite: Callable[[str, str], str], name: str = "", depth: int = 0) -> Any:
    """A value with its texts rewritten, and without what no JSON document may have: NaN, and endless nesting."""
    match value:
        case str():
            return rewrite(value, name)
        case dict():
            if depth >= MOST_NESTED - 10:
                return None
            owner = value.get("name")
            return {
                str(key).replace("\0", "\u2400"): sound(
                    each, rewrite, owner if key == "value" and isinstance(owner, str) else str(key), depth + 1
                )
                for key, each in value.items()
            }
        case list():
            if depth >= MOST_NESTED - 10:
                return None
            return [sound(each, rewrite, name, depth + 1) for each in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


FORMAT: Final = 1  # raised when an older Catena could not read the document any more
CONTENTS: Final = "catena conversation"

HEAD: Mapping[str, Field] = {
    "contents": MAYBE_NAME,
    "exported_at": TIME,
    "conversation_id": ID,
    "leaf_id": MAYBE_ID,
    "tree": FLAG,
    "masked": FLAG,
}

CONVERSATIONS: Mapping[str, Field] = {
    "id": ID,
    "family": ID,
    "title": Field(MAYBE_TEXT.check, spoken=True),
    "agent": NAME,
    "profile": PROFILE,
    "cwd": PATH,
    "fork_point_id": MAYBE_ID,
    "leaf_id": MAYBE_ID,
    "pinned": FLAG,
    "archived": FLAG,
    "deleted": FLAG,  # it is there for what hangs from it
    "created_at": TIME,
    "updated_at": TIME,
}
MESSAGES: Mapping[str, Field] = {
    "id": ID,
    "conversation_id": ID,
    "parent_id": MAYBE_ID,
    "turn_id": MAYBE_ID,
    "kind": choice(Kind),
    "state": choice(MessageState),
    "link_id": MAYBE_ID,
    "agent_message_id": MAYBE_NAME,
    "barrier": FLAG,
    "created_at": TIME,
    "text": TEXT,
    "data": OBJECT,
}
LINKS: Mapping[str, Field] = {
    "id": ID,
    "conversation_id": ID,
    "agent": NAME,
    "profile": PROFILE,
    "session_id": NAME,
    "cwd": PATH,
    "cause": choice(Cause),
    "source_id": MAYBE_ID,
    "base": MAYBE_ID,
    "knows": MAYBE_ID,
    "reach": MAYBE_ID,
    "whole": MAYBE_ID,
    "state": choice(LinkState),
    "version": COUNT,
    "cost_total": MAYBE_NUMBER,
    "ended": MAYBE_TEXT,
    "created_at": TIME,
}
LINK_EVENTS: Mapping[str, Field] = {
    "link_id": ID,
    "event": NAME,
    "detail": MAYBE_TEXT,
    "at": TIME,
}
TURNS: Mapping[str, Field] = {
    "id": ID,
    "conversation_id": ID,
    "prompt_id": ID,
    "link_id": ID,
    "base_link_id": MAYBE_ID,
    "last_id": ID,
    "how": choice(ContextSource),
    "cause": MAYBE_TEXT,
    "told_from": MAYBE_ID,
    "told_to": MAYBE_ID,
    "told": COUNT,
    "told_total": COUNT,
    "tools_listed": COUNT,
    "tools_left_out": COUNT,
    "left_out": COUNT,
    "shortened": COUNT,
    "masked": COUNT,
    "whole_id": MAYBE_ID,
    "stop_reason": choice(StopReason, needed=False),
    "error": MAYBE_TEXT,
    "usage": MAYBE_OBJECT,
    "cost": MAYBE_NUMBER,
    "currency": MAYBE_NAME,
    "model": MAYBE_NAME,
    "mode": MAYBE_NAME,
    "started_at": TIME,
    "ended_at": MAYBE_TIME,
    "waited": COUNT,
    "prior_context": MAYBE_TEXT,
}
SURROUNDINGS: Mapping[str, Field] = {
    "turn_id": ID,
    "options": OPTIONS,
    "directories": PATHS,
    "git_branch": MAYBE_NAME,
    "git_worktree": MAYBE_PATH,
    "git_commit": MAYBE_NAME,
    "context_used": MAYBE_COUNT,
    "context_size": MAYBE_COUNT,
}
ATTACHMENTS: Mapping[str, Field] = {
    "message_id": ID,
    "position": COUNT,
    "sha256": NAME,
    "mime": NAME,
    "name": PATH,
    "path": MAYBE_PATH,
    "bytes": BYTES,
}
CHECKPOINTS: Mapping[str, Field] = {
    "id": ID,
    "conversation_id": ID,
    "message_id": MAYBE_ID,
    "link_id": MAYBE_ID,
    "label": MAYBE_TEXT,
    "automatic": FLAG,
    "data": OBJECT,
    "created_at": TIME,
}

SECTIONS: Mapping[str, Mapping[str, Field]] = {
    "conversations": CONVERSATIONS,
    "messages": MESSAGES,
    "links": LINKS,
    "link_events": LINK_EVENTS,
    "turns": TURNS,
    "surroundings": SURROUNDINGS,
    "attachments": ATTACHMENTS,
    "checkpoints": CHECKPOINTS,
}


class Rewriter(Protocol):
    """What rewrites the texts of people and agents on their way into a document, such as a mask of secrets."""

    def begin(self, where: str) -> None:
        """Say where the texts that follow stand."""
        ...

    def rewrite(self, text: str, name: str = "") -> str:
        """The text to write; ``name`` is the key that the text stands under, if any."""
        ...


def check_head(head: Mapping[str, Any]) -> dict[str, Any]:
    """The checked head of a document. Raises NotImportable."""
    form = head.get("format")
    if isinstance(form, bool) or not isinstance(form, int):
        raise NotImportable("it has no format number, so it is not a Catena export")
    if form > FORMAT:
        raise NotImportable(f"its format is {form}, and this Catena knows {FORMAT}: it needs a newer one")
    if form < 1 or head.get("contents") != CONTENTS:
        raise NotImportable("it is JSON of another kind, not what `catena export --format json` writes")
    return read_row(HEAD, "the document", head)
