"""The registry's data: a snapshot that comes with Catena, or a newer one that the person fetched.

Nothing here uses a network. Data that was fetched stands in `agents/registry.json` below the data directory, in the
registry's own format with two fields more, ``date`` and ``source``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from catena_acp.agents.registry.entries import RegistryEntry, read_entries
from catena_acp.agents.registry.installs import agents_directory, write_whole
from catena_acp.errors import RegistryInvalid

MOST_BYTES = 8 << 20  # of a registry
BUNDLED = "bundled with Catena"
_FILE_NAME = "registry.json"


@dataclass(frozen=True, slots=True)
class RegistryData:
    """Agents of the registry as of a day, and where they are from."""

    date: date
    source: str
    entries: tuple[RegistryEntry, ...]
    refused: tuple[str, ...] = ()  # a line for each agent that is invalid
    trouble: str = ""  # why data that was fetched is not used

    def entry(self, id: str) -> RegistryEntry | None:
        """The agent with this id."""
        return next((entry for entry in self.entries if entry.id == id), None)

    @property
    def bundled(self) -> bool:
        """True for the snapshot that comes with Catena."""
        return self.source == BUNDLED


@dataclass(frozen=True, slots=True)
class RegistryChanges:
    """What differs between two states of the registry."""

    added: tuple[RegistryEntry, ...]
    removed: tuple[RegistryEntry, ...]
    versions: tuple[tuple[str, str, str], ...]  # id, old and new version

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.versions)


def registry_path() -> Path:
    """The path of data that was fetched, whether there is any or not."""
    return agents_directory() / _FILE_NAME


def load_registry() -> RegistryData:
    """The newer of the bundled snapshot and what was fetched; the snapshot where that cannot be read."""
    bundled = _bundled()
    path = registry_path()
    try:
        data = path.read_bytes() if path.stat().st_size <= MOST_BYTES else b""
        fetched = parse_registry(data)
    except (FileNotFoundError, NotADirectoryError):
        return bundled
    except (OSError, RegistryInvalid) as error:
        why = f"{path} cannot be used ({error}); run `catena agents update` again"
        return RegistryData(bundled.date, bundled.source, bundled.entries, trouble=why)
    return fetched if fetched.date >= bundled.date else bundled


@cache
def _bundled() -> RegistryData:
    return parse_registry(Path(__file__).with_name("snapshot.json").read_bytes())


def parse_registry(data: bytes, *, today: date | None = None, source: str = "") -> RegistryData:
    """The registry in the bytes of a file; ``today`` and ``source`` where it does not say them.

    Raises RegistryInvalid.
    """
    document = _document(data)
    entries, refused = read_entries(document)
    return RegistryData(_date(document, today), _source(document, source), entries, refused)


def keep_registry(data: bytes, *, today: date, source: str) -> RegistryData:
    """Keep fetched data in place of what was kept before; an error changes nothing. Raises RegistryInvalid, OSError."""
    document = _document(data) | {"date": today.isoformat(), "source": source}
    entries, refused = read_entries(document)
    path = registry_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, json.dumps(document, indent=1).encode())
    return RegistryData(today, source, entries, refused)


def changes(before: RegistryData, after: RegistryData) -> RegistryChanges:
    """The entries that are new, those that are gone, and those with another version."""
    old = {entry.id: entry for entry in before.entries}
    new = {entry.id: entry for entry in after.entries}
    return RegistryChanges(
        tuple(new[id] for id in new if id not in old),
        tuple(old[id] for id in old if id not in new),
        tuple((id, old[id].version, new[id].version) for id in _moved(old, new)),
    )


def _moved(old: dict[str, RegistryEntry], new: dict[str, RegistryEntry]) -> Iterator[str]:
    return (id for id in new if id in old and old[id].version != new[id].version)


def _document(data: bytes) -> dict[str, object]:
    if len(data) > MOST_BYTES:
        raise RegistryInvalid(f"it is larger than {MOST_BYTES >> 20} MB")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RegistryInvalid("it is not JSON") from error
    if not isinstance(document, dict):
        raise RegistryInvalid("it is not a registry: a JSON object with `agents`, a list")
    return document


def _date(document: dict[str, object], today: date | None) -> date:
    said = document.get("date")
    with suppress(ValueError):
        if isinstance(said, str):
            return date.fromisoformat(said)
    if today is None:
        raise RegistryInvalid("it has no date")
    return today


def _source(document: dict[str, object], source: str) -> str:
    said = document.get("source")
    return source or (said if isinstance(said, str) else "")
