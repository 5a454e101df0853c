"""Acts on the branches of a conversation, and between a fork and its source."""

from __future__ import annotations

from functools import partial

from catena.acts.surface import Done, Here, Refused, Report, ReportRow
from catena.text.chain_text import kin_name
from catena.text.formats import age
from catena_store.ids import utc_now


async def lineage(on: Here) -> Done:
    """Report the conversation that this one was forked from, and its forks; to open one goes there."""
    found = await on.tab.conversation.branches.lineage()
    kin = [(found.source, "the original")] if found.source else []
    kin += [(fork, "a fork") for fork in found.forks]
    if not kin:
        raise Refused("This conversation has no forks; /fork creates one.")

    async def go(id: str) -> Done:
        await on.surface.go(on.tabs.open_conversation(id), lambda tab: tab)
        return Done()

    rows = [
        ReportRow(kin_name(each), (words, age(each.created_at, utc_now())), partial(go, each.id))
        for each, words in kin
    ]
    return Done(report=Report("Forks", "Forks", rows, enter="go there", at_once=True))
