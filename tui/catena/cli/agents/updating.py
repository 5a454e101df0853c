"""``catena agents update``: newer data of the registry, the only thing that is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from catena.cli.agents.listing import plain_line, registry_age
from catena.errors import CommandRefused, ExitStatus
from catena.text.safe_text import safe_line
from catena_acp.agents.registry import downloads
from catena_acp.agents.registry.data import MOST_BYTES, RegistryData, changes, keep_registry, load_registry
from catena_acp.agents.registry.installs import installed_agents
from catena_acp.errors import DownloadFailed, RegistryInvalid
from catena_store.ids import utc_now

_MOST_SHOWN = 20


def update_registry(source: str) -> int:
    """Read a registry from a file or an https address, keep it, and print what changed. Raises CommandRefused."""
    before, today = load_registry(), utc_now().date()
    try:
        data, named = _read(source)
        after = keep_registry(data, today=today, source=named)
    except (DownloadFailed, RegistryInvalid) as error:
        why = str(error) if isinstance(error, DownloadFailed) else f"{source}: {error}"
        raise CommandRefused(f"{why}. The data of before is kept", ExitStatus.FAILED) from error
    except OSError as error:
        why = f"{error.filename or source}: {error.strerror}"
        raise CommandRefused(f"{why}. The data of before is kept", ExitStatus.FAILED) from error
    for line in _lines(before, after):
        print(plain_line(line))
    print(safe_line(f"Registry: {registry_age(after, today)}"))
    return ExitStatus.ANSWERED


def _read(source: str) -> tuple[bytes, str]:
    """What is at a source, and its name to be shown later. Raises DownloadFailed, OSError, RegistryInvalid."""
    if "://" in source:
        return downloads.read_address(source, MOST_BYTES), downloads.shown_address(source)
    path = Path(source).expanduser().absolute()
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    return data, str(path)


def _lines(before: RegistryData, after: RegistryData) -> Iterator[str]:
    found = changes(before, after)
    if not found:
        yield f"Nothing changed since {before.date.isoformat()}."
    installed = {each.id: each.version for each in installed_agents()}
    yield from _listed("new", [f"{entry.id} {entry.version} · {entry.name}" for entry in found.added])
    yield from _listed("gone", [f"{entry.id} {entry.version}" for entry in found.removed])
    moved = [
        f"{id} {old} → {new}" + (f" (installed: {installed[id]})" if id in installed else "")
        for id, old, new in found.versions
    ]
    yield from _listed("version", moved)
    yield from _listed("invalid", list(after.refused))


def _listed(what: str, lines: list[str]) -> Iterator[str]:
    for line in lines[:_MOST_SHOWN]:
        yield f"{what:<8} {line}"
    if len(lines) > _MOST_SHOWN:
        yield f"{what:<8} and {len(lines) - _MOST_SHOWN} more"
