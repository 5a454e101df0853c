"""The markers around a prior context, by which replay, import and titles recognise it; and agents' titles without it.

Pure.
"""

from __future__ import annotations

import re

BEGIN = "[Catena · earlier conversation, for your information]"
END = "[Catena · end of the earlier conversation]"
_OURS = "[Catena · "  # how every text of ours in a prompt begins
_FORK_MARKS = re.compile(r"(?:\s*\(fork(?: #?\d+)?\))+\Z")
_LONGEST_TITLE = 200  # characters; some agents take the whole first prompt


def without_prior_context(text: str) -> str:
    """The text with every prior-context block taken out; what replay, import and titles look at.

    A block that was cut short goes to the end of the text. It begins as ours do: its marker is a line. A marker within
    the person's words, which no other follows, is theirs.
    """
    while (start := text.find(BEGIN)) >= 0 and (end := text.find(END, start)) >= 0:
        text = text[:start] + text[end + len(END) :]
    return text.partition(f"{BEGIN}\n")[0].strip()


def harmless(text: str) -> str:
    """Quoted text that cannot be taken for our markers."""
    return text.replace(BEGIN, "[earlier conversation]").replace(END, "[end of it]")


def readable_title(told: str) -> str | None:
    """An agent's title in one line, without the prior context that it may begin with; None if nothing is left.

    Agents name a session after the first text that they get, which is prior context in a told one, often cut.
    """
    line = " ".join(told.split())
    line = line.rpartition(END)[2].strip()
    if line.startswith(_OURS.strip()):
        return None
    return (line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1].rstrip()}…") or None


def without_fork_marks(title: str) -> str:
    """An agent's title without what it says of forks: most of them are ours, and a fork of a fork is marked again."""
    return _FORK_MARKS.sub("", title) or title
