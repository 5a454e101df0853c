"""Where a conversation comes from and what was forked from it, in words."""

from __future__ import annotations

from datetime import datetime

from catena.safe_text import safe_line
from catena.tab import title_of
from catena_store.conversations.lineage import Kin, Lineage

_HOW = "/lineage goes there"


def name_of(kin: Kin) -> str:
    """What a next of kin is called."""
    return safe_line(kin.title or title_of(kin.preview) or "untitled")


def lineage_line(lineage: Lineage, forked_at: datetime) -> str:
    """One line; "" where there is no kin."""
    parts = []
    if lineage.source:
        parts.append(f"forked from “{name_of(lineage.source)}” at {forked_at.astimezone():%H:%M}")
    if len(lineage.forks) == 1:
        parts.append(f"forked: “{name_of(lineage.forks[0])}”")
    elif lineage.forks:
        parts.append(f"{len(lineage.forks)} forks")
    return f"↳ {' · '.join(parts)} · {_HOW}" if parts else ""
