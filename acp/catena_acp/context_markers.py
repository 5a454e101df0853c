"""The markers around a prior context, by which replay, import and titles recognise it. Pure."""

from __future__ import annotations

BEGIN = "[Catena · earlier conversation, for your information]"
END = "[Catena · end of the earlier conversation]"


def without_prior_context(text: str) -> str:
    """The text with every prior-context block taken out; what replay, import and titles look at."""
    while (start := text.find(BEGIN)) >= 0:
        end = text.find(END, start)
        if end < 0:
            return text[:start].strip()
        text = text[:start] + text[end + len(END) :]
    return text.strip()


def harmless(text: str) -> str:
    """Quoted text that cannot be taken for our markers."""
    return text.replace(BEGIN, "[earlier conversation]").replace(END, "[end of it]")
