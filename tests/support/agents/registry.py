"""Registries of agents that are small files on this machine, and archives with an agent in them."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

from catena_acp.agents.registry.plans import this_platform

PROGRAM = f'#!/bin/sh\n[ "$1" = --version ] && {{ echo 7.7; exit; }}\nexec {sys.executable} -m catena_acp.rehearsal\n'


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    """Write a compressed archive of members and their contents."""
    with tarfile.open(path, "w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def member(name: str, *, mode: int = 0o644, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """A member of an archive."""
    info = tarfile.TarInfo(name)
    info.mode, info.type, info.linkname = mode, kind, link
    return info


def agent_archive(folder: Path, version: str, program: str = PROGRAM) -> Path:
    """An archive with an agent, the rehearsal agent by another name."""
    script = (member("agent/bin/run", mode=0o6755), program.encode())
    return tar_of(folder / f"agent-{version}.tar.gz", script, (member("agent/README"), version.encode()))


def archived(archive: Path, version: str, *, id: str = "fake", digest: str | None = None) -> dict[str, Any]:
    """The registry's entry of an agent in an archive; its digest is right unless another is given."""
    right = hashlib.sha256(archive.read_bytes()).hexdigest() if archive.exists() else "0" * 64
    target = {
        "archive": archive.as_uri(),
        "cmd": "./agent/bin/run",
        "args": ["acp"],
        "sha256": digest or right,
    }
    return entry(id, version, binary={this_platform(): target})


def entry(id: str, version: str, **distribution: object) -> dict[str, Any]:
    """The registry's entry of an agent."""
    return {"id": id, "name": id.title(), "version": version, "description": "", "distribution": distribution}


def registry_file(path: Path, *entries: dict[str, Any], **fields: object) -> Path:
    """Write a registry of some entries."""
    path.write_text(json.dumps({"version": "1.0.0", "agents": list(entries), **fields}), encoding="utf-8")
    return path
