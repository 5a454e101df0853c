"""What the status line and the hints say of a tab."""

from __future__ import annotations

from typing import assert_never

from catena.safe_text import safe_line
from catena.tab import Tab
from catena.widgets.status_line import Status
from catena_acp.continuity.events import Doing, SessionState, Usage

STOP_PATIENCE = 5.0  # seconds after which ending the agent's process is offered


def status_of(tab: Tab, *, stopping_for: float | None) -> Status:
    """The status line of a tab; ``stopping_for``: seconds since the person wanted the turn stopped."""
    session = tab.session or tab.conversation.session(tab.window_id)
    parts = [session.agent_title, session.model or "", mode_name(session)]
    who = " · ".join(part for part in parts if part)
    if tab.conversation.read_only:
        return Status(who, meter(session.usage), _hold(tab), tab.since if tab.busy else None)
    if not tab.busy:
        return Status(who, meter(session.usage), f"{len(tab.queue)} waiting" if tab.queue else "")
    doing, ways = _doing(tab.doing, session.agent_title)
    if _unheeded(tab, stopping_for):
        ways = "esc again ends the agent's process"
    return Status(who, meter(session.usage), doing, tab.since, ways)


def _hold(tab: Tab) -> str:
    holder = tab.conversation.holder
    if tab.conversation.free:
        return "its Catena is gone: type, or /takeover, to go on here"
    if holder is None:
        return "read only: another Catena has it"
    return f"read only: Catena on {safe_line(holder.host)} ({holder.pid}) has it"


def unheeded_stop(tab: Tab, stopping_for: float | None) -> str:
    """What can be done where a stop is not heeded, "" where it is, or may still be."""
    if not _unheeded(tab, stopping_for):
        return ""
    agent = (tab.session or tab.conversation.session(tab.window_id)).agent_title
    return f"{agent} does not stop. Esc ends its process; what it said is kept."


def _unheeded(tab: Tab, stopping_for: float | None) -> bool:
    return tab.doing is Doing.STOPPING and stopping_for is not None and stopping_for >= STOP_PATIENCE


def _doing(doing: Doing, agent: str) -> tuple[str, str]:
    match doing:
        case Doing.IDLE:
            return "", ""
        case Doing.STARTING:
            return f"starting {agent}", "esc stop"
        case Doing.OPENING:
            return "opening a session", "esc stop"
        case Doing.LOGGING_IN:
            return f"{agent} waits for you to log in in the browser", "esc gives up"
        case Doing.WORKING:
            return "", "esc stop"
        case Doing.ASKING:
            return "waits for your answer", ""
        case Doing.STOPPING:
            return "stopping", ""
        case _:
            assert_never(doing)


def mode_name(session: SessionState) -> str:
    """The name of the mode in force."""
    return next((mode.name for mode in session.modes if mode.id == session.mode), session.mode or "")


def meter(usage: Usage | None) -> str:
    """Context and cost, as far as the agent reports them."""
    if usage is None:
        return ""
    parts = []
    if usage.size:
        parts.append(f"{_short(usage.used)}/{_short(usage.size)}")
    if usage.cost is not None:
        sign = {"USD": "$", "EUR": "€", None: ""}.get(usage.currency, f"{usage.currency} ")
        parts.append(f"{sign}{usage.cost:.2f}")
    return "  ".join(parts)


def _short(number: int) -> str:
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.0f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
