"""Titles that agents give: one line, without our own words. Pure."""

from __future__ import annotations

import re

from catena_acp.continuity.routing.prior_context import END

_OURS = "[Catena · "  # how every text of ours in a prompt begins
_FORK_MARKS = re.compile(r"(?:\s*\(fork(?: #?\d+)?\))+\Z")
_LONGEST = 200  # characters; some agents take the whole first prompt


def readable_title(told: str) -> str | None:
    """An agent's title in one line, without the prior context that it may begin with; None if nothing is left.

    Agents name a session after the first text that they get, which is prior context in a told one, often cut.
    """
    line = " ".join(told.split())
    line = line.rpartition(END)[2].strip()
    if line.startswith(_OURS.strip()):
        return None
    return (line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…") or None


def without_fork_marks(title: str) -> str:
    """An agent's title without what it says of forks: most of them are ours, and a fork of a fork is marked again."""
    return _FORK_MARKS.sub("", title) or title
