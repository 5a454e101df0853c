"""Acts that read: the cost of a conversation, its sessions, the words of its agent, the help on a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from catena.acts.surface import (
    Done,
    Here,
    LiveReport,
    Question,
    Refused,
    Report,
    ReportRow,
    Voice,
    next_prompt,
)
from catena.acts.table import FrontCommand, by_names, command_with_rest, verbs_of
from catena.acts.unknown import shown_name
from catena.settings.templates import Template
from catena.text.chain_text import context_facts, context_place, link_facts
from catena.text.safe_text import safe_line
from catena.text.usage import Spending, spending, usage_rows
from catena.workspace.tab import Tab
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.chain import ChainEntry
from catena_acp.spoken.spoken import Notice, spoken_of
from catena_store.conversations import messages
from catena_store.database.database import Reader
from catena_store.records import Kind


async def usage(on: Here) -> Done:
    """Report what the last turn, this branch and all branches cost."""

    async def read(reader: Reader, leaf: str | None) -> Spending:
        return await spending(reader, on.tab.conversation.id, leaf)

    spent = await on.tabs.branches.of_branch(on.tab, read)
    rows = [ReportRow(title, values) for title, values in usage_rows(spent)]
    return Done(report=Report("Cost of this conversation", "Usage", rows))


async def background(on: Here) -> Done:
    """Report what runs in the background, and go to the call that began it."""
    window = on.tab.window
    if not window.background:
        raise Refused("Nothing is running in the background.")

    async def read() -> Report:
        rows = [ReportRow(safe_line(each.title), [safe_line(each.last_line)]) for each in window.background]
        return Report("In the background", "Background", rows)

    async def go(row: str) -> Done:
        if not await on.tabs.branches.on_branch(on.tab, row):
            raise Refused("Its call is not on this branch.")
        await on.surface.visit(on.tab.conversation.id, row)
        return Done()

    return Done(report=LiveReport(window, read, go))


async def stderr(on: Here) -> Done:
    """Report what the agent wrote last to its standard error: when it got into trouble, else until now."""
    lines = await _lines_of_trouble(on) or on.tab.conversation.last_lines()
    if not lines:
        raise Refused("No error output.")
    return Done(
        report=Report(
            f"Error output of {safe_line(on.tab.window.session.agent_title)}",
            "Output",
            heading=f"error output, {counted(len(lines), 'line')}",
            text="\n".join(lines),
        )
    )


async def _lines_of_trouble(on: Here) -> tuple[str, ...]:
    """The lines that were kept with the trouble that the branch ends with."""
    tab = on.tab
    standing = tab.trouble.standing
    if standing is not None and standing.problem.detail:
        return standing.problem.detail
    if tab.leaf_id is None:
        return ()
    async with on.tabs.store.read() as reader:
        last = await messages.get(reader, tab.leaf_id)
    said = spoken_of(last) if last is not None and last.kind is Kind.NOTICE else None
    return said.detail if isinstance(said, Notice) else ()


async def next_question(on: Here) -> Done:
    """Go to the next tab whose agent asks, around the end."""
    tabs = on.tabs.tabs
    here = tabs.index(on.at) if on.at in tabs else -1
    asking = [tab for tab in (*tabs[here + 1 :], *tabs[: max(0, here)]) if tab.mark == "?"]
    if not asking:
        raise Refused("No other tab asks." if on.at is not None and on.at.asks else "No tab asks.")

    async def step() -> Tab:
        return asking[0]

    await on.surface.go(step(), lambda tab: tab)
    return Done()


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
    on.surface.say(f"Back where that session ended. {next_prompt(price)}")
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


def help_of(
    words: str, commands: Sequence[FrontCommand], templates: Mapping[str, Template]
) -> list[tuple[str, str]]:
    """The usage of what is named and what it does, then its verbs; with or without a slash. Raises Refused."""
    name, _, rest = words.removeprefix("/").partition(" ")
    found, _ = command_with_rest(by_names(commands), name, rest.strip())
    if found is not None:
        return [(f"/{each.usage}", each.summary) for each in (found, *verbs_of(found, commands))]
    if (template := templates.get(name)) is not None:
        return [(template.usage, template.description)]
    raise Refused(f"There is no command {shown_name(words)}; /help all lists them.")
