"""``catena agents install`` and ``remove``, which first show what is done, and ``update`` of the registry's data."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from catena.cli.agents.listing import plain_line, registry_age
from catena.cli.run.answers import agreed
from catena.errors import CommandRefused, ExitStatus, refusing_path
from catena.text.formats import from_home, size_text
from catena.text.safe_text import safe_line
from catena_acp.agents.catalog import agent_name, catalog, login_hint, registry_entry, registry_id
from catena_acp.agents.registry import downloads
from catena_acp.agents.registry.data import MOST_BYTES, RegistryData, changes, keep_registry, load_registry
from catena_acp.agents.registry.entries import Archive, RegistryEntry
from catena_acp.agents.registry.installer import download_size, install
from catena_acp.agents.registry.installs import (
    Install,
    agents_directory,
    find_install,
    installed_agents,
    remove_install,
    size_of,
)
from catena_acp.agents.registry.plans import InstallPlan, plan_install, this_platform
from catena_acp.errors import DownloadFailed, InstallFailed, RegistryInvalid
from catena_store.ids import utc_now

_SHOWN_EVERY = 0.2  # seconds, between two states of a download


def install_agent(named: str, *, yes: bool) -> int:
    """Install an agent of the registry after the person has agreed. Raises CommandRefused."""
    entry = _offered(named)
    name, before = agent_name(entry.id), find_install(entry.id)
    plan = plan_install(entry)
    if plan is None:
        raise CommandRefused(f"{entry.name} has no program for {this_platform()}", ExitStatus.FAILED)
    if why := plan.missing_tool:
        raise CommandRefused(f"{entry.name} cannot be installed: {why}", ExitStatus.FAILED)
    for line in _plan_lines(plan, before):
        _say(line)
    if not yes and not asyncio.run(agreed("Install?", f"catena agents install {name}")):
        _say("Nothing was installed.")
        return ExitStatus.STOPPED
    try:
        done = install(plan, _Progress().show)
    except InstallFailed as error:
        kept = f" {before.version} is still installed." if before else ""
        raise CommandRefused(f"{entry.name} was not installed: {error}.{kept}", ExitStatus.FAILED) from error
    for line in _done_lines(name, entry, done):
        _say(line)
    return ExitStatus.ANSWERED


def remove_agent(named: str, *, yes: bool) -> int:
    """Remove an agent that Catena installed, after the person has agreed. Raises CommandRefused."""
    id = registry_id(named)
    done = find_install(id)
    if done is None:
        raise CommandRefused(f"{named} was not installed by Catena; see `catena agents`")
    home = agents_directory() / id
    _say(f"Remove {agent_name(id)} {done.version}: {from_home(str(home))}, {size_text(size_of(home))}")
    if not yes and not asyncio.run(agreed("Remove?", f"catena agents remove {named}")):
        _say("Nothing was removed.")
        return ExitStatus.STOPPED
    try:
        size = remove_install(id)
    except InstallFailed as error:
        raise CommandRefused(f"{named} was not removed: {error}", ExitStatus.FAILED) from error
    print(safe_line(f"Removed {agent_name(id)} {done.version} ({size_text(size)}). Its conversations stay."))
    return ExitStatus.ANSWERED


def _kept(why: str) -> CommandRefused:
    return CommandRefused(f"{why}. The earlier data is kept", ExitStatus.FAILED)


def _offered(named: str) -> RegistryEntry:
    if entry := registry_entry(named):
        return entry
    known = next((each for each in catalog() if each.name == named), None)
    if known is None:
        raise CommandRefused(f"{named}: no such agent; see `catena agents`")
    how = "it comes with Catena" if known.login is None else f"get it yourself: {known.install}"
    raise CommandRefused(f"{known.title} is not in the registry; {how}")


def _plan_lines(plan: InstallPlan, before: Install | None) -> Iterator[str]:
    entry = plan.entry
    instead = f", in place of {before.version}" if before and before.version != plan.version else ""
    again = " again" if before and before.version == plan.version else ""
    yield f"Install {entry.name} {plan.version}{again}{instead}"
    where = agents_directory() / entry.id / plan.version
    argv = plan.argv(from_home(str(where)))
    yield f"  command  {shlex.join(argv)}" if argv else "  command  none: Catena downloads and unpacks it"
    yield f"  source   {plan.source}"
    yield f"  size     {_size_words(plan)}"
    if isinstance(plan.distribution, Archive):
        digest = plan.sha256
        yield f"  sha256   {digest or 'not in the registry: what is downloaded cannot be compared'}"
    if entry.license:
        yield f"  licence  {entry.license}"
    yield f"  into     {from_home(str(where))}"


def _size_words(plan: InstallPlan) -> str:
    try:
        size = download_size(plan)
    except DownloadFailed as error:
        return f"not known: {error}"
    if size is None:
        return "not known"
    return (
        f"{size_text(size)} to download"
        if plan.tool is None
        else f"{size_text(size)}, and what it depends on"
    )


def _done_lines(name: str, entry: RegistryEntry, done: Install) -> Iterator[str]:
    yield f"Installed {entry.name} {done.version} ({size_text(done.size)}). Start it with: catena --agent {name}"
    if login := login_hint(name):
        yield f"If it asks: {login}"


class _Progress:
    """The state of a download, on one line of a terminal."""

    def __init__(self) -> None:
        self._shown = 0.0

    def show(self, size: int, whole: int | None) -> None:
        """Show how much has come, of how much; not more often than can be read."""
        now, last = time.monotonic(), size == whole
        if not sys.stderr.isatty() or (now - self._shown < _SHOWN_EVERY and not last):
            return
        self._shown = now
        of = f" of {size_text(whole)}, {100 * size // max(1, whole)} %" if whole else ""
        print(f"\r  {size_text(size)}{of}   ", end="\n" if last else "", file=sys.stderr, flush=True)


def _say(words: str) -> None:
    print(plain_line(words), file=sys.stderr, flush=True)


_MOST_SHOWN = 20


def update_registry(source: str) -> int:
    """Read a registry from a file or an https address, keep it, and print what changed. Raises CommandRefused."""
    before, today = load_registry(), utc_now().date()
    try:
        data, named = _read(source)
        after = keep_registry(data, today=today, source=named)
    except (DownloadFailed, RegistryInvalid) as error:
        raise _kept(str(error) if isinstance(error, DownloadFailed) else f"{source}: {error}") from error
    except OSError as error:
        raise _kept(f"{error.filename or source}: {error.strerror}") from error
    for line in _lines(before, after):
        print(plain_line(line))
    print(safe_line(f"Registry: {registry_age(after, today)}"))
    return ExitStatus.ANSWERED


def _read(source: str) -> tuple[bytes, str]:
    """What is at a source, and its name to be shown later. Raises DownloadFailed, OSError, RegistryInvalid."""
    if "://" in source:
        return downloads.read_address(source, MOST_BYTES), downloads.shown_address(source)
    with refusing_path(source):
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
