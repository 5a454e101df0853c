"""A record of what goes over the wire to and from one agent, for bug reports: bounded, with secrets masked."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

VARIABLE = "CATENA_WIRE"  # names the directory of the records; nothing is recorded without it
MAX_BYTES = 16 * 1024 * 1024  # of a file; then its older half goes
MAX_TEXT = 10_000  # characters kept of one text

_MASK = "•••"
_SECRET_NAME = re.compile(r"key|token|secret|passw|authorization|credential|cookie|bearer", re.IGNORECASE)
# Characters of a value that is masked wherever it stands: a shorter one stands in other words, too.
_SHORTEST = 8


class WireRecord:
    """The messages of one agent's process, both ways, one JSON object on each line of a file of its own.

    Masked are ``secrets``, values of variables and headers, fields whose names say that they are secret, and what is
    filled in in forms; each of them also wherever else it stands. The first failure to write ends the record.
    """

    def __init__(self, path: Path, agent: str, secrets: Iterable[str], log: Callable[[str], None]) -> None:
        """Make the file, which nobody else may read. Raises OSError."""
        self._secrets: set[str] = set()
        for secret in secrets:
            self._mask(secret)
        self._log = log
        self._began = time.monotonic()
        self._size = 0
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._file: int | None = os.open(path, flags, 0o600)
        self._write({"agent": agent, "began": datetime.now(UTC).isoformat(timespec="seconds")})

    def sent(self, message: Mapping[str, Any]) -> None:
        """Record a message to the agent."""
        result = message.get("result")
        filled_in = result.get("content") if isinstance(result, Mapping) and "action" in result else None
        if isinstance(filled_in, Mapping):
            masked = {key: self._mask(value) for key, value in filled_in.items()}
            message = {**message, "result": {**message["result"], "content": masked}}
        self._record("sent", message)

    def received(self, message: Mapping[str, Any] | str) -> None:
        """Record a message of the agent, or a line without one."""
        self._record("received", message)

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _record(self, direction: str, message: Mapping[str, Any] | str) -> None:
        if self._file is not None:
            # Of all of it first: a secret may stand before the field that names it.
            masked = self._masked(message)
            self._write(
                {"at": round(time.monotonic() - self._began, 3), direction: self._without_secrets(masked)}
            )

    def _write(self, entry: Mapping[str, Any]) -> None:
        line = _line(entry)
        if len(line) > MAX_BYTES // 4:
            line = _line({"left out": f"a message of {len(line):,} bytes"})
        try:
            if self._size + len(line) > MAX_BYTES:
                self._halve()
            self._append(line)
        except OSError as error:
            self._log(f"the wire is not recorded any more: {error}")
            self.close()

    def _append(self, data: bytes) -> None:
        assert self._file is not None
        if os.write(self._file, data) < len(data):
            raise OSError("there is no room for more")
        self._size += len(data)

    def _halve(self) -> None:
        assert self._file is not None
        newer = os.pread(self._file, MAX_BYTES // 2, self._size - MAX_BYTES // 2)
        os.ftruncate(self._file, 0)
        self._size = 0
        self._append(_line({"left out": "older messages"}) + newer[newer.find(b"\n") + 1 :])

    def _masked(self, value: Any, name: str = "") -> Any:
        """``value`` of a field with this name, with what is secret by its place masked, and noted."""
        if isinstance(value, str):
            return self._mask(value) if _SECRET_NAME.search(name) else value
        if isinstance(value, list):
            return [self._masked(each, name) for each in value]
        if not isinstance(value, Mapping):
            return value
        named = value.get("name")
        if name in ("env", "headers") and not isinstance(named, str):
            return {key: self._mask(each) for key, each in value.items()}
        secret = name in ("env", "headers") or (isinstance(named, str) and _SECRET_NAME.search(named))
        return {
            key: self._mask(each) if secret and key == "value" else self._masked(each, str(key))
            for key, each in value.items()
        }

    def _mask(self, value: Any) -> str:
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str) and len(each) >= _SHORTEST:
                self._secrets.add(each)
        return _MASK

    def _without_secrets(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._without_secrets(each) for each in value]
        if isinstance(value, Mapping):
            return {self._without_secrets(key): self._without_secrets(each) for key, each in value.items()}
        if not isinstance(value, str):
            return value
        for secret in sorted(self._secrets, key=len, reverse=True):
            value = value.replace(secret, _MASK)
        return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}… ({len(value):,} characters)"


def begin_record(
    agent: str, pid: int, own: Mapping[str, str], given: Mapping[str, str], log: Callable[[str], None]
) -> WireRecord | None:
    """The record of an agent's process, if our environment ``own`` asks for one; None if it cannot be made.

    ``given`` are the variables that the settings give the agent: all of them but paths are taken for secrets.
    """
    directory = own.get(VARIABLE)
    if not directory:
        return None
    secrets = {value for name, value in own.items() if _SECRET_NAME.search(name)}
    secrets |= {value for value in given.values() if not value.startswith("/")}
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    name = re.sub(r"[^\w-]", "-", agent)[:40]
    try:
        Path(directory).mkdir(mode=0o700, parents=True, exist_ok=True)
        return WireRecord(Path(directory) / f"{now}-{name}-{pid}.jsonl", agent, secrets, log)
    except OSError as error:
        log(f"the wire cannot be recorded: {error}")
        return None


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
