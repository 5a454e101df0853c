"""Acts on the agent of a conversation: another one, its model, mode and settings, and its login."""

from __future__ import annotations

from collections.abc import Sequence

from catena.acts.surface import Done, Here, Question, Refused, Report, ReportRow, next_prompt
from catena.errors import CommandRefused
from catena.settings.agents import stored_agent, stored_agent_name, typed_agent
from catena.settings.file.document import settings_path
from catena.settings.settings import Settings
from catena.text import agent_text
from catena.text.agent_text import runs_everything
from catena.text.formats import background_words
from catena.text.safe_text import safe_line
from catena.workspace.tab import Tab
from catena_acp.agents.agent import ENVIRONMENT, TERMINAL
from catena_acp.continuity.conversation_events import SessionState
from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.errors import AgentError, AgentMissing, GivenUp, StillAtWork
from catena_acp.port.abilities import AuthMethod
from catena_acp.port.port import AgentSpec
from catena_acp.port.session_events import ConfigChoice, Option

_NO_SESSION = "Not known yet: the agent reports its settings when its session opens."


async def agent(on: Here, name: str) -> Done:
    """Continue with another agent; if no tab is open, in a new conversation."""
    tab = on.at
    if name:
        spec = typed_agent(name, on.settings)
    else:
        used = await tab.agents_used() if tab else None
        title = "Continue with which agent?" if tab else "Which agent?"
        spec = await on.surface.choose_agent(title, used=used)
    if tab is None:
        await on.surface.go(on.tabs.open_new(spec), lambda opened: opened)
        return Done()
    title = safe_line(tab.title_of(spec))
    if tab.answered_by(spec):
        return Done(f"{title} is already in use here.")
    (price,) = await prices(tab, [spec])
    await tab.window.set_agent(spec)
    said = [f"Switched to {title}."]
    if running := [task.title for task in tab.window.background]:
        said.append(f"{background_words(running)} of the previous agent.")
    if price:
        said.append(next_prompt(price))
    on.surface.say(" ".join(said))
    await tab.window.prepare()
    return Done()


async def new(on: Here, name: str) -> Done:
    """Begin a conversation in a new tab, with the agent that is named, else with that of this tab."""
    spec = typed_agent(name, on.settings) if name else on.at and kept_agent(on.at, on.settings)
    spec = spec or await on.surface.choose_agent("Which agent?")
    await on.surface.go(on.tabs.open_new(spec), lambda opened: opened)
    return Done()


def kept_agent(tab: Tab, settings: Settings) -> AgentSpec | None:
    """The agent that a tab's conversation was kept with; None if nothing is known of it any more."""
    try:
        return stored_agent(tab.agent, tab.profile, settings)
    except AgentMissing:
        return None


async def prices(tab: Tab | None, specs: Sequence[AgentSpec]) -> list[str]:
    """The price of the next prompt of a tab with each of the agents, in words; "" if it is not known."""
    if tab is None or tab.untouched or tab.conversation.read_only:
        return [""] * len(specs)
    return [price.words for price in await tab.conversation.chain.prices(tab.window, specs)]


async def model(on: Here, name: str) -> Done:
    """Choose a model."""
    session = await session_of(on.tab)
    option = option_of_category(session, "model")
    if option is None:
        raise Refused("The agent offers no other models." if session.link_id else _NO_SESSION)
    return await _set(on, option, name)


async def mode(on: Here, name: str) -> Done:
    """Choose a mode."""
    session = await session_of(on.tab)
    if session.link_id is None or not session.modes:
        raise Refused("The agent offers no modes." if session.link_id else _NO_SESSION)
    rows = [
        ReportRow(each.name, note=each.description or "", here=each.id == session.mode)
        for each in session.modes
    ]
    mode = session.modes[await chosen(on, "Mode", name, rows)]
    await on.tab.window.set_mode(mode.id)
    return Done(f"The mode is {safe_line(mode.name)}.")


async def next_mode(on: Here) -> Done:
    """Switch to the next mode, but to none in which the agent does everything unasked: that is chosen by name."""
    session = await session_of(on.tab)
    if session.link_id is None or not session.modes:
        raise Refused("The agent offers no modes." if session.link_id else _NO_SESSION)
    if len(session.modes) == 1:
        raise Refused(f"The agent offers one mode: {safe_line(session.modes[0].name)}.")
    await on.tab.window.set_mode(_next_mode)
    return Done(_mode_words(on.tab.window.session))


def _next_mode(session: SessionState) -> str:
    """The id of the mode behind the one in force, in the agent's order."""
    ids = [each.id for each in session.modes]
    at = ids.index(session.mode) + 1 if session.mode in ids else 0
    around = [*session.modes[at:], *session.modes[:at]]
    return next((each.id for each in around if not _runs_everything(each)), around[-1].id)


def _mode_words(session: SessionState) -> str:
    """The mode in force, and the modes that only their names choose."""
    named = next((each.name for each in session.modes if each.id == session.mode), session.mode or "")
    left = [f"/model mode {safe_line(each.name)}" for each in session.modes if _runs_everything(each)]
    only = f" Only {' or '.join(left)} lets the agent do everything unasked." if left else ""
    return f"The mode is {safe_line(named)}.{only}"


def _runs_everything(mode: ConfigChoice) -> bool:
    return runs_everything(mode.id, mode.name, mode.description or "")


async def options(on: Here, wish: str) -> Done:
    """Choose any setting of the agent, the one that is named, to the value behind that."""
    session = await session_of(on.tab)
    offered = [each for each in session.options if each.kind in ("select", "boolean")]
    if not offered:
        raise Refused("The agent offers no settings." if session.link_id else _NO_SESSION)
    name, _, value = wish.partition(" ")
    rows = [ReportRow(each.name, (_value_name(each),), note=each.description or "") for each in offered]
    return await _set(on, offered[await chosen(on, "The agent's settings", name, rows)], value.strip())


async def session_of(tab: Tab) -> SessionState:
    """The state of a tab's session; waits while the session opens, and opens it if possible."""
    session = await tab.window.session_opened()
    if session.link_id is None:
        await tab.window.prepare()
        session = tab.window.session
    return session


async def chosen(on: Here, title: str, named: str, rows: Sequence[ReportRow], note: str = "") -> int:
    """Return the place of the row that was named, else of the one that the user chooses. Raises Cancelled, Refused."""
    if not named:
        return rows.index(await on.surface.choose(title, rows, note=note))
    wanted, names = named.casefold(), [row.name.casefold() for row in rows]
    exact = [at for at, name in enumerate(names) if name == wanted]
    begin = [at for at, name in enumerate(names) if name.startswith(wanted)]
    for found in (exact, begin):
        if len(found) == 1:
            return found[0]
    raise Refused(f"{safe_line(named)} is not one of: {', '.join(safe_line(row.name) for row in rows)}.")


async def _set(on: Here, option: Option, named: str) -> Done:
    """Give an option the value that was named, else the one that the user chooses."""
    values: dict[str | bool, ReportRow]
    if option.kind == "boolean":
        values = {
            each: ReportRow("on" if each else "off", here=each is option.value) for each in (True, False)
        }
    else:
        values = {
            each.id: ReportRow(
                each.name, (each.group or "",), note=each.description or "", here=each.id == option.value
            )
            for each in option.choices
        }
    at = await chosen(on, option.name, named, list(values.values()), option.description or "")
    value = list(values)[at]
    await on.tab.window.set_option(option.id, value)
    return Done(f"{safe_line(option.name)} is {safe_line(values[value].name)}.")


def _value_name(option: Option) -> str:
    if isinstance(option.value, bool):
        return "on" if option.value else "off"
    return next((each.name for each in option.choices if each.id == option.value), option.value)


async def login(on: Here, named: str) -> Done:
    """Log in by the only method, the named one, or the one that the user chooses; then send the prompt that waits."""
    tab, logins, title = on.tab, on.tab.conversation.logins, on.tab.window.session.agent_title
    methods = await logins.methods(tab.window)
    if not methods:
        # Who logged in elsewhere comes here, too: an agent that runs may not have noticed.
        await logins.logged_in(tab.window)
        return _of_tab(on, agent_text.no_login_text(title, logins.own_way_in))
    at = 0
    if len(methods) > 1:
        rows = [
            ReportRow(each.name, (agent_text.method_kind_text(each),), note=each.description or "")
            for each in methods
        ]
        by_id = {each.id.casefold(): each.name for each in methods}
        name = by_id.get(named.casefold(), named)
        at = await chosen(on, f"Log in to {safe_line(title)}", name, rows)
    if methods[at].kind == ENVIRONMENT:
        return _explained(on, methods[at])
    if methods[at].kind == TERMINAL:
        await _in_terminal(on, methods[at])
    else:
        await _by_agent(on, methods[at])
    return await _send_owed(on)


async def logout(on: Here) -> Done:
    """Log out after the user has confirmed it."""
    title = safe_line(on.tab.window.session.agent_title)
    await on.surface.ask(
        Question(
            f"Log out of {title}?",
            f"log out of {title}",
            "its context is cleared; the transcript stays",
            note=f"This logs out every tab with {title} and clears their context.",
            no="stay",
            careful=True,
        )
    )
    await on.tab.conversation.logins.log_out(on.tab.window)
    return _of_tab(on, f"Logged out of {title}. /login to log in again.")


async def _by_agent(on: Here, method: AuthMethod) -> None:
    logins, title = on.tab.conversation.logins, on.tab.window.session.agent_title
    on.surface.say(agent_text.login_wait_text(title, method))
    try:
        await logins.log_in(on.tab.window, method.id)
    except (GivenUp, StillAtWork):
        raise
    except AgentError as error:
        words = agent_text.login_refused_text(title, str(error), logins.own_way_in)
        raise CommandRefused(_of_tab(on, words).words) from error


async def _in_terminal(on: Here, method: AuthMethod) -> None:
    logins, surface = on.tab.conversation.logins, on.surface
    login = await logins.terminal(on.tab.window, method.id)
    command, leaving = agent_text.terminal_login_lines(login.argv)
    if not surface.terminal:
        raise Refused(f"Not a terminal: run {command} in one.")
    title = safe_line(on.tab.window.session.agent_title)
    await surface.ask(
        Question(
            f"Log in to {title} in this terminal?",
            "run it",
            note=f"$ {command}\nIt uses this terminal until it exits. {leaving}",
            no="cancel",
        )
    )
    try:
        status = await surface.lend(login.argv, login.env, login.cwd, f"{command}\n{leaving}")
    except OSError as error:
        raise CommandRefused(agent_text.login_not_started_text(login.argv[0], error.strerror)) from error
    if status:
        raise CommandRefused(_of_tab(on, agent_text.login_failed_text(login.argv[0], status)).words)
    await logins.logged_in(on.tab.window)


def _explained(on: Here, method: AuthMethod) -> Done:
    tab = on.tab
    name = stored_agent_name(tab.agent, tab.profile, on.settings)
    lines = agent_text.variable_lines(
        tab.window.session.agent_title,
        "NAME" if name.startswith("command:") else name,
        method,
        tab.conversation.logins.variables(method),
        str(settings_path()),
    )
    return Done(report=Report(f"Log in: {safe_line(method.name)}", "Note", text="\n".join(lines)))


async def _send_owed(on: Here) -> Done:
    """Send the prompt that needed the login again, as the same row, if it got no answer."""
    tab, title = on.tab, on.tab.window.session.agent_title
    owed = await tab.conversation.logins.owed(tab.window)
    tab.trouble.logged_in()
    if owed is not None and not owed.begun and owed.returned is not None:
        return _of_tab(
            on, agent_text.logged_in_text(title, owed, edited=await on.surface.resend(tab, owed.returned))
        )
    if owed is not None and not owed.begun:
        await tab.window.retry()
    on.surface.say(_of_tab(on, agent_text.logged_in_text(title, owed)).words)  # of the turn that just began
    if owed is None:
        await tab.window.prepare()
    return Done()


def _of_tab(on: Here, words: str) -> Done:
    """The words, with the name of the tab if the user is in another one by now."""
    return Done(words if on.tab is on.tabs.active else f"{on.tab.name()}: {words}")
