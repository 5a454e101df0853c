"""Framing: bytes of an agent as JSON-RPC messages, and their values, of which one of a wrong type is absent. Pure.

What stands on a line before or behind a message (a byte order mark, colours, half a log line) is left out. A line that
has no message is dropped with a reason. Nothing that an agent writes may raise here, nor later in the
SDK, whose connection fails at an array, a number or an unhashable id.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

MAX_NAME = 4_000  # characters
MAX_LISTED = 2_000

Json = Mapping[str, Any]


def text_of(holder: Json, key: str) -> str | None:
    """The string under ``key``, or None."""
    value = holder.get(key)
    return value if isinstance(value, str) else None


def name_of(holder: Json, key: str) -> str | None:
    """The string under ``key``, cut to 4,000 characters; or None."""
    value = holder.get(key)
    return value[:MAX_NAME] if isinstance(value, str) else None


def object_of(holder: Json, key: str) -> Json | None:
    """The object under ``key``, or None."""
    value = holder.get(key)
    return value if isinstance(value, dict) else None


def objects_in(listed: object, most: int = MAX_LISTED) -> Iterable[dict[str, Any]]:
    """The objects among the first ``most`` items of a list; none where it is no list."""
    if not isinstance(listed, list):
        return ()
    return (item for item in islice(listed, most) if isinstance(item, dict))


def number(value: object) -> float | None:
    """A finite number from 0 up to 2**53, which floats hold exactly; or None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    return None


Message = dict[str, Any]
Drop = Callable[[str], None]

MAX_LINE = 64 * 1024 * 1024
MAX_BATCH = 1_000  # messages on one line
TOO_LONG = "message of more than 64 MiB"
TOO_DEEP = "message that is nested too deeply"
TOO_MANY = f"batch of more than {MAX_BATCH:,} messages"
# Reasons for which something that the agent meant is lost: its turn says so.
LOST = frozenset({TOO_LONG, TOO_DEEP, TOO_MANY})
MAX_ERROR_WORDS = 16_000  # characters kept of an error's message

# What an agent may send: in what it printed around its messages, its log may repeat ours.
_OF_AGENTS = re.compile(
    r"(session/(update|request_permission)|fs/\w+|terminal/\w+|elicitation/(create|complete)|\$/cancel_request)\Z"
)
_OBJECT = re.compile(r'\{\s*"')
_MAX_STARTS = 1_000  # of objects on one line that are looked at as messages

_MAX_DEPTH = 200
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _parse_float(digits: str) -> float | None:
    """A finite number; None if it overflows: JSON, and so the store, has no infinity."""
    value = float(digits)
    return value if math.isfinite(value) else None


_DECODER = json.JSONDecoder(parse_constant=lambda _name: None, parse_float=_parse_float)


class LineSplitter:
    """Splits blocks of bytes into lines; lines longer than ``max_line`` bytes are skipped."""

    def __init__(self, drop: Drop, max_line: int = MAX_LINE) -> None:
        self._drop = drop
        self._max_line = max_line
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, block: bytes) -> list[bytes]:
        """The lines that ``block`` completes, without line ends."""
        *ends, rest = block.split(b"\n")
        lines = []
        for line in ends:
            if self._parts or self._skipping or len(line) > self._max_line:
                self._append(line)
                line = self._pop_line()
            if line.strip():
                lines.append(line)
        self._append(rest)
        return lines

    def rest(self) -> bytes:
        """Remove and return the bytes after the last line end."""
        return self._pop_line()

    def unfinished(self, most: int) -> bytes:
        """The bytes after the last line end; nothing of more than ``most``."""
        return b"".join(self._parts) if self._size <= most else b""

    def _append(self, part: bytes) -> None:
        if self._skipping or not part:
            return
        self._size += len(part)
        if self._size > self._max_line:
            self._skipping = True
            self._parts.clear()
            self._drop(TOO_LONG)
        else:
            self._parts.append(part)

    def _pop_line(self) -> bytes:
        line = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        self._skipping = False
        return line


def decode(line: bytes, drop: Drop) -> Iterator[Message]:
    """The messages on a line: one, or a batch. Invalid UTF-8 and lone surrogates are replaced."""
    text = line.decode("utf-8", "replace").strip()
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        value = list(_messages_within(text))
        if not value:
            drop(TOO_DEEP if isinstance(error, RecursionError) else "line that is not JSON")
            return
    if b"\\ud" in line or b"\\uD" in line:
        value = _replace_surrogates(value, _MAX_DEPTH)
    if isinstance(value, list) and len(value) > MAX_BATCH:
        drop(TOO_MANY)
        value = value[:MAX_BATCH]
    flat = line.count(b"[") + line.count(b"{") < _MAX_DEPTH
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, dict):
            drop("JSON that is not an object")
        elif not (flat or _is_shallow(item)):
            drop(TOO_DEEP)
        else:
            yield item


def _messages_within(text: str) -> Iterator[Message]:
    """The messages of an agent that stand somewhere in a text; work is bounded by its length."""
    at, work = 0, 4 * len(text) + 1_000_000
    for _ in range(_MAX_STARTS):
        start = _OBJECT.search(text, at)
        if start is None or work < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            work -= error.pos - start.start()
            at = start.start() + 1
            continue
        except (ValueError, RecursionError):
            return
        work -= end - start.start()
        at = end
        if _is_message(value):
            yield value


def _is_message(value: Any) -> bool:
    """True for a message that an agent may send."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return False
    method = value.get("method")
    if method is None:
        return "id" in value and ("result" in value or "error" in value)
    return isinstance(method, str) and _OF_AGENTS.match(method) is not None


def encode(message: Message) -> bytes:
    """A message as one line of JSON."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def replace_surrogates(text: str) -> str:
    """``text`` with lone surrogates replaced, which can be neither sent nor stored."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def valid_id(value: object) -> int | str | None:
    """A JSON-RPC id as a hashable value; None if it is invalid. ``1.0`` is 1, and ``true`` is invalid."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def session_id_of(message: Message) -> str | None:
    """The session id in a message's parameters, if any."""
    params = message.get("params")
    session_id = params.get("sessionId") if isinstance(params, dict) else None
    return session_id if isinstance(session_id, str) else None


def has_update(message: Message, drop: Drop) -> bool:
    """True for a ``session/update`` that names a session and has an update."""
    if session_id_of(message) is None:
        drop("session/update that names no session")
        return False
    if not isinstance(message["params"].get("update"), dict):
        drop("session/update without an update")
        return False
    return True


def whole_answer(message: Message, request_id: int | str) -> Message:
    """An answer to the SDK's request of this id, with a result, or with an error that has all its fields."""
    answer: Message = {"jsonrpc": "2.0", "id": request_id}
    error = message.get("error")
    if error is None:
        answer["result"] = message.get("result")
    elif isinstance(error, dict):
        code, words = error.get("code"), error.get("message")
        answer["error"] = {
            "code": code if isinstance(code, int) and not isinstance(code, bool) else -32603,
            "message": words[:MAX_ERROR_WORDS] if isinstance(words, str) else "Error",
            "data": error.get("data"),
        }
    else:
        answer["error"] = {"code": -32603, "message": str(error)[:MAX_ERROR_WORDS], "data": None}
    return answer


def _is_shallow(value: object) -> bool:
    """False for a value nested so deeply that a recursive walk would exhaust the stack."""
    level: list[object] = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, (dict, list))
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return True
    return False


def _replace_surrogates(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if depth and isinstance(value, list):
        return [_replace_surrogates(item, depth - 1) for item in value]
    if depth and isinstance(value, dict):
        return {replace_surrogates(key): _replace_surrogates(item, depth - 1) for key, item in value.items()}
    return value
