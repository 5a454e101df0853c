"""Agents of the public registry, read from its JSON.

The format is that of https://github.com/agentclientprotocol/registry (FORMAT.md), as of August 2026. Unknown fields and
kinds of distribution are ignored. The content becomes commands, paths and addresses, so everything that could be an
option, or lead out of a directory, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from catena_acp.errors import RegistryInvalid

MOST_AGENTS = 5_000
RESERVED = frozenset({"rehearsal", "install", "remove", "update", "registry"})  # as ids

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}")
_NPM = re.compile(
    r"(?P<name>(?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*)(?:@(?P<version>[A-Za-z0-9][\w.+-]*))?", re.I
)
_PYPI = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)(?P<extras>\[[\w., -]+\])?(?:(?:==|@)(?P<version>[A-Za-z0-9][\w.+!-]*))?"
)
_PROGRAM = re.compile(r"[A-Za-z0-9_][\w.+-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PLATFORM = re.compile(r"[a-z0-9]+-[a-z0-9_]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON may have one alone, which no file or process can be given
_MOST_TEXT = 2_000  # characters of a name, a description, an argument


@dataclass(frozen=True, slots=True)
class Invocation:
    """What follows an agent's program: arguments and environment variables."""

    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """A package that npm installs; ``program`` is the one to start, "" for its only one."""

    name: str
    version: str
    program: str
    invocation: Invocation


@dataclass(frozen=True, slots=True)
class PythonPackage:
    """A package that uv installs; ``extras`` are in brackets, or ""."""

    name: str
    extras: str
    version: str
    program: str
    invocation: Invocation


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive, or a bare program, for one platform; ``program`` is its path in what was unpacked."""

    address: str  # https: or file:
    program: str
    sha256: str | None
    invocation: Invocation


Distribution: TypeAlias = NpmPackage | PythonPackage | Archive


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """An agent of the registry, with what it can be installed from."""

    id: str
    name: str
    version: str
    description: str
    homepage: str
    license: str
    archives: Mapping[str, Archive]  # by platform, such as linux-x86_64
    npm: NpmPackage | None
    python: PythonPackage | None

    def distribution(self, platform: str) -> Distribution | None:
        """The distribution to install on a platform: its archive, else a package; None if there is nothing for it."""
        return self.archives.get(platform) or self.npm or self.python


def read_entries(document: object) -> tuple[tuple[RegistryEntry, ...], tuple[str, ...]]:
    """The agents of a registry's document, by id, and a line for each that was left out as invalid.

    Raises RegistryInvalid if it is no registry, or has no valid agent.
    """
    if not isinstance(document, dict) or not isinstance(document.get("agents"), list):
        raise RegistryInvalid("it is not a registry: a JSON object with `agents`, a list")
    listed = document["agents"]
    if len(listed) > MOST_AGENTS:
        raise RegistryInvalid(f"it has more than {MOST_AGENTS:,} agents")
    entries: dict[str, RegistryEntry] = {}
    refused: list[str] = []
    for number, fields in enumerate(listed, 1):
        try:
            entry = _entry(fields)
            if entry.id in entries:
                raise RegistryInvalid("its id is used twice")
        except RegistryInvalid as error:
            named = fields.get("id") if isinstance(fields, dict) else None
            refused.append(f"{named if isinstance(named, str) and named else f'agent {number}'}: {error}")
        else:
            entries[entry.id] = entry
    if not entries:
        raise RegistryInvalid(f"it has no valid agent ({refused[0]})" if refused else "it has no agents")
    return tuple(entries[id] for id in sorted(entries)), tuple(refused)


def _entry(fields: object) -> RegistryEntry:
    if not isinstance(fields, dict):
        raise RegistryInvalid("it is not an object")
    id = _matched(fields, "id", _ID)
    if id in RESERVED:
        raise RegistryInvalid("its id is reserved")
    version = _matched(fields, "version", _VERSION)
    kinds = fields.get("distribution")
    if not isinstance(kinds, dict):
        raise RegistryInvalid("it has no `distribution`")
    return RegistryEntry(
        id=id,
        name=_text(fields, "name") or id,
        version=version,
        description=_text(fields, "description"),
        homepage=_homepage(fields),
        license=_text(fields, "license"),
        archives=_archives(kinds.get("binary")),
        npm=_npm(kinds["npx"], version) if "npx" in kinds else None,
        python=_python(kinds["uvx"], version) if "uvx" in kinds else None,
    )


def _archives(platforms: object) -> dict[str, Archive]:
    if platforms is None:
        return {}
    if not isinstance(platforms, dict):
        raise RegistryInvalid("`binary` is not an object")
    return {
        platform: _archive(fields)
        for platform, fields in platforms.items()
        # Programs for Windows have paths of their own, and nothing here starts them.
        if _PLATFORM.fullmatch(platform) and not platform.startswith("windows")
    }


def _archive(fields: object) -> Archive:
    if not isinstance(fields, dict):
        raise RegistryInvalid("`binary` has a platform that is not an object")
    address = _text(fields, "archive")
    if not address.startswith(("https://", "file:///")):
        raise RegistryInvalid("`archive` must begin with https://")
    digest = fields.get("sha256")
    if digest is not None and not (isinstance(digest, str) and _SHA256.fullmatch(digest.lower())):
        raise RegistryInvalid("`sha256` is not 64 hexadecimal digits")
    return Archive(
        address=address,
        program=_inner_path(_text(fields, "cmd")),
        sha256=digest.lower() if isinstance(digest, str) else None,
        invocation=_invocation(fields),
    )


def _inner_path(path: str) -> str:
    """A path below the directory that an archive is unpacked to."""
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if not steps or ".." in steps or path.startswith("/") or "\\" in path:
        raise RegistryInvalid("`cmd` must be a path in the archive")
    return "/".join(steps)


def _npm(fields: object, version: str) -> NpmPackage:
    named = _package(fields, _NPM)
    return NpmPackage(named["name"], _exact(named["version"]) or version, *_started(fields))


def _python(fields: object, version: str) -> PythonPackage:
    named = _package(fields, _PYPI)
    extras = (named["extras"] or "").replace(" ", "")
    return PythonPackage(named["name"], extras, _exact(named["version"]) or version, *_started(fields))


def _exact(version: str | None) -> str:
    """A version, "" where it is a tag such as `latest`, which another version has tomorrow."""
    return version if version and version[0].isdigit() else ""


def _package(fields: object, pattern: re.Pattern[str]) -> re.Match[str]:
    named = pattern.fullmatch(_text(fields, "package")) if isinstance(fields, dict) else None
    if named is None:
        raise RegistryInvalid("`package` is not the name of a package")
    return named


def _started(fields: object) -> tuple[str, Invocation]:
    """The program and its invocation."""
    assert isinstance(fields, dict)
    program = _text(fields, "cmd")
    if program and not _PROGRAM.fullmatch(program):
        raise RegistryInvalid("`cmd` is not the name of a program")
    return program, _invocation(fields)


def _invocation(fields: Mapping[str, Any]) -> Invocation:
    args, env = fields.get("args") or [], fields.get("env") or {}
    if not isinstance(args, list) or not all(isinstance(word, str) and _fits(word) for word in args):
        raise RegistryInvalid("`args` is not a list of strings")
    if not isinstance(env, dict) or not all(
        _VARIABLE.fullmatch(name) and isinstance(value, str) and _fits(value) for name, value in env.items()
    ):
        raise RegistryInvalid("`env` is not an object of strings")
    return Invocation(tuple(args), tuple(env.items()))


def _fits(text: str) -> bool:
    return len(text) <= _MOST_TEXT and "\0" not in text and not _SURROGATE.search(text)


def _homepage(fields: Mapping[str, Any]) -> str:
    addresses = (_text(fields, "website"), _text(fields, "repository"))
    return next((each for each in addresses if each.startswith(("https://", "http://"))), "")


def _matched(fields: Mapping[str, Any], name: str, pattern: re.Pattern[str]) -> str:
    text = _text(fields, name)
    # A name such as `1..` is none of a directory.
    if not pattern.fullmatch(text) or ".." in text:
        raise RegistryInvalid(f"`{name}` is missing or invalid")
    return text


def _text(fields: Mapping[str, Any], name: str) -> str:
    """A short text on one line, "" if there is none."""
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > _MOST_TEXT or _SURROGATE.search(value):
        raise RegistryInvalid(f"`{name}` is not a short text")
    return _UNPRINTABLE.sub(" ", value).strip()
