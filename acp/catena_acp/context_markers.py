"""The markers around a prior context, by which replay, import and titles recognise it. Pure."""

from __future__ import annotations

BEGIN = "[Catena · earlier conversation, for your information]"
END = "[Catena · end of the earlier conversation]"


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
