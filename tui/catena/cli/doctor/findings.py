"""What `catena doctor` finds: a line each, to be pasted into a report, with the same as values for JSON.

Nothing of a conversation is in it, and no value of a setting or of a variable that could be a secret.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from catena import __version__
from catena.cli.agents.listing import registry_age
from catena.cli.doctor.terminal import clipboard_finding, terminal_findings
from catena.cli.doctor.values import Finding, first_line_of
from catena.errors import ExitStatus, InvalidSettings
from catena.log import LOG_NAME
from catena.settings.file.document import read_text
from catena.settings.file.location import settings_path
from catena.settings.installed_agents import AgentStatus, agent_statuses
from catena.settings.settings import Settings, load_settings
from catena.text.formats import size_text
from catena.text.json_shapes import dumps
from catena.text.safe_text import safe_line
from catena.text.secrets import SecretMask
from catena_acp.agents.registry.data import load_registry
from catena_acp.continuity.wording.counts import counted
from catena_store.database import health
from catena_store.database.database import Database, data_directory, default_path
from catena_store.database.location import on_network, write_refusal
from catena_store.errors import StoreError
from catena_store.ids import utc_now

_SCARCE = 200 << 20  # bytes of free space, below which it is told
TRIED_PYTHONS = ("3.11", "3.12", "3.13", "3.14")  # all tests passed on them; the classifiers name the same


def print_findings(*, json: bool) -> int:
    """Print what was found; the exit status is 1 where something keeps Catena from working."""
    findings = [_without_secrets(finding) for finding in _findings()]
    ok = all(finding.ok for finding in findings)
    if json:
        shapes = [{"about": each.about, "ok": each.ok, "text": each.text, **each.values} for each in findings]
        print(dumps({"ok": ok, "findings": shapes}, indent=2))
    else:
        for finding in findings:
            print(f"{finding.about:<9} {safe_line(finding.text)}")
    return ExitStatus.ANSWERED if ok else ExitStatus.FAILED


def _findings() -> Iterator[Finding]:
    settings = _settings()
    yield versions_finding()
    yield _data()
    yield from _home()
    yield asyncio.run(_store())
    yield _log()
    yield settings
    yield from _agents(_usable_settings() if settings.ok else Settings())
    yield _registry()
    yield from terminal_findings(os.environ)
    yield clipboard_finding(os.environ)
    yield _git()


def versions_finding() -> Finding:
    """The versions of Catena, Python and the system, and whether Catena was tried with this Python."""
    system = platform.platform(terse=True)
    python = platform.python_version()
    tried = ".".join(python.split(".")[:2]) in TRIED_PYTHONS
    note = "" if tried else f" (tried with {TRIED_PYTHONS[0]} to {TRIED_PYTHONS[-1]})"
    values = {"version": __version__, "python": python, "python_tried": tried, "platform": system}
    return Finding("catena", f"{__version__} · Python {python}{note} · {system}", values=values)


def _data() -> Finding:
    directory = data_directory()
    nearest = next(each for each in (directory, *directory.parents) if os.path.isdir(each))  # noqa: PTH112
    free, remote, refusal = shutil.disk_usage(nearest).free, on_network(nearest), write_refusal(directory)
    notes = [f"only {size_text(free)} free"] if free < _SCARCE else []
    notes += ["on a network file system, which a database cannot be shared on"] if remote else []
    if refusal is not None:
        elsewhere = "set CATENA_DATA_DIR to a directory that can be written"
        notes.append(f"nothing can be kept there ({refusal}): {elsewhere}")
    text = " · ".join([str(directory), *notes])
    values = {"path": str(directory), "free": free, "network": remote, "writable": refusal is None}
    return Finding("data", text, ok=refusal is None, values=values)


def _home() -> Iterator[Finding]:
    """Said only if nothing can be written there."""
    refusal = write_refusal(Path.home())
    if refusal is not None:
        text = f"{Path.home()} cannot be written ({refusal}): agents keep logins and sessions there, and may fail"
        yield Finding("home", text, values={"path": str(Path.home()), "writable": False})


async def _store() -> Finding:
    path = default_path()
    if not path.exists():
        created = "created with the first conversation"
        words = created if write_refusal(path.parent) is None else "none, and it cannot be created"
        return Finding("store", f"{path.name}: {words}", values={"exists": False})
    notes: list[str] = []
    try:
        async with Database.open(path) as db:
            db.tell_by(notes.append)
            async with db.read() as reader:
                found = await health.check(reader)
            if db.read_only:
                notes.append("It is read-only")
    except StoreError as error:
        return Finding("store", str(error), ok=False, values={"exists": True})
    size = path.stat().st_size
    values = {
        "exists": True,
        "size": size,
        "conversations": found.conversations,
        "messages": found.messages,
        "complaints": list(found.complaints),
    }
    holds = f"{counted(found.conversations, 'conversation')}, {counted(found.messages, 'message')}"
    words = f"{path.name}, {size / 1_000_000:.1f} MB, {holds}"
    if found.complaints:
        return Finding("store", f"{words}: damaged: {'; '.join(found.complaints)}", ok=False, values=values)
    return Finding("store", f"{words}: sound{'. '.join(['', *notes])}", values=values)


def _log() -> Finding:
    path = data_directory() / LOG_NAME
    size = path.stat().st_size if path.exists() else 0
    return Finding("log", f"{path.name}, {size:,} bytes" if size else "empty", values={"size": size})


def _settings() -> Finding:
    """The settings file, and which settings are in it: their names alone."""
    path = settings_path()
    try:
        load_settings()
        text = read_text(path)
    except InvalidSettings as error:
        return Finding("settings", str(error), ok=False, values={"path": str(path), "valid": False})
    if text is None:
        unwritable = "" if write_refusal(path.parent) is None else "; none can be saved there"
        words = f"{path}: none (using defaults){unwritable}"
        return Finding("settings", words, values={"path": str(path), "valid": True, "set": []})
    import tomllib

    names = list(tomllib.loads(text))
    words = f"{path}: valid{': ' if names else ''}{', '.join(names)}"
    return Finding("settings", words, values={"path": str(path), "valid": True, "set": names})


def _usable_settings() -> Settings:
    try:
        return load_settings()
    except InvalidSettings:
        return Settings()  # it was changed this moment


def _agents(settings: Settings) -> Iterator[Finding]:
    statuses = asyncio.run(agent_statuses(settings))
    for status in statuses:
        if status.found:
            yield _agent(status)
    missing = [status.name for status in statuses if not status.found]
    if missing:
        yield Finding("missing", f"agents not installed: {', '.join(missing)}", values={"agents": missing})


def _agent(status: AgentStatus) -> Finding:
    version, command = status.version or "(version unknown)", shlex.join(status.command)
    login = f" · log in: {status.login}" if status.lacks_account else ""
    values = {
        "name": status.name,
        "version": status.version,
        "command": command,
        "origin": status.origin,
        "path": shutil.which(status.command[0]),
        "lacks_account": status.lacks_account,
    }
    text = f"{status.name} {version}: {command} ({status.origin}){login}"
    return Finding("agent", text, values=values)


def _registry() -> Finding:
    registry = load_registry()
    text = registry_age(registry, utc_now().date())
    values = {"date": registry.date.isoformat(), "source": registry.source, "agents": len(registry.entries)}
    return Finding("registry", f"{text} · {registry.trouble}" if registry.trouble else text, values=values)


def _git() -> Finding:
    said = first_line_of(("git", "--version"))
    version = said.removeprefix("git version ") if said else None
    return Finding(
        "git", version or "not found: branches and repositories are not shown", values={"version": version}
    )


def _without_secrets(finding: Finding) -> Finding:
    """The finding with what looks like a secret masked, and the home directory as `~`."""
    mask = SecretMask()
    text = mask.rewrite(_at_home(finding.text))
    return Finding(finding.about, text, finding.ok, mask.rewrite_all(_at_home(dict(finding.values))))


def _at_home(value: Any) -> Any:
    """A value with the home directory as `~` in every text."""
    match value:
        case str():
            return value.replace(f"{Path.home()}/", "~/")
        case dict():
            return {name: _at_home(each) for name, each in value.items()}
        case list():
            return [_at_home(each) for each in value]
        case _:
            return value
