"""Acts that read the sessions of a conversation, and what each knows."""

from __future__ import annotations

from functools import partial

from catena.acts.surface import Done, Here, LiveReport, Question, Refused, Report, ReportRow, Voice
from catena.text.chain_text import context_facts, context_place, link_facts
from catena.text.safe_text import safe_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.chain import ChainEntry

_DETAILS = frozenset(("session", "agent", "first", "log"))  # ids, and what is said more briefly


async def chain(on: Here) -> Done:
    """Report the sessions of the conversation, the newest last; one can be continued."""
    return Done(report=LiveReport(on.tab.conversation.chain, partial(_sessions, on), partial(_pick, on)))


async def _sessions(on: Here) -> Report:
    found = await on.tab.conversation.chain.read(on.tab.window)
    if not found.entries:
        raise Refused("No sessions yet.")

    def words(entry: ChainEntry, voice: Voice) -> list[str]:
        here = entry.link.cwd == on.tab.conversation.record.cwd
        left_out = {"directory"} if here else set[str]()
        facts = [
            f"{name}: {safe_line(' '.join(value.split()))}"
            for name, value in link_facts(entry)
            if name and name not in left_out and (voice.whole or name not in _DETAILS)
        ]
        return [". ".join((safe_line(entry.agent_title), *facts))]

    rows = [ReportRow("", partial(words, each), partial(_pick, on, each.link.id)) for each in found.entries]
    told = any(each.link.session_id in found.next for each in found.entries)  # by a row, without an id
    then = "" if told else f"; the next prompt would go to {safe_line(found.next)}"
    heading = f"{counted(len(rows), 'session')}, newest last{then}"
    return Report("Sessions", "Sessions", rows, heading=heading, enter="continue from it")


async def _pick(on: Here, link_id: str) -> Done:
    chain, window = on.tab.conversation.chain, on.tab.window
    price = (await chain.price_of(window, link_id)).words
    note = "Later messages are kept."
    await on.surface.ask(Question("Continue from here?", "Continue", price, note=note, seen=True))
    price = (await chain.pick(window, link_id)).words
    on.surface.say(f"Back where that session ended. Your next prompt: {price}.")
    await window.prepare()
    return Done()


async def context(on: Here) -> Done:
    """Report what the agent knew at the turn of a message, else at the newest, and what was replayed."""
    chain, window = on.tab.conversation.chain, on.tab.window
    known = await chain.context(window, on.message_id)
    if known is None:
        raise Refused("Nothing has been sent yet.")

    async def read() -> Report:
        rows = [ReportRow(line.strip()) for line in context_facts(known) if line]
        heading = f"{context_place(known)}, {safe_line(known.agent_title)}"
        return Report("Context", "Context", rows, heading=heading, text=known.prior_context or "")

    return Done(report=LiveReport(known, read))
