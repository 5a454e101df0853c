"""Acts that read what a conversation cost, and what its agent wrote beside the protocol."""

from __future__ import annotations

from catena.acts.surface import Done, Here, LiveReport, Refused, Report, ReportRow
from catena.text.safe_text import safe_line
from catena.text.usage import Spending, spending, usage_rows
from catena.workspace.tab import Tab
from catena_acp.continuity.wording.counts import counted
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
        raise Refused("Nothing runs in the background.")

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
