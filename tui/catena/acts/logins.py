"""Acts on the login of a conversation's agent; after a login the prompt that needed it is sent."""

from __future__ import annotations

from catena.acts.agents import chosen
from catena.acts.surface import Done, Here, Question, Refused, Report, ReportRow
from catena.errors import CommandRefused
from catena.settings.agents import stored_agent_name
from catena.settings.file.document import settings_path
from catena.text import login_text
from catena.text.safe_text import safe_line
from catena_acp.agents import login_methods
from catena_acp.errors import AgentError, GivenUp, StillAtWork
from catena_acp.port.abilities import AuthMethod


async def login(on: Here, named: str) -> Done:
    """Log in by the only method, the named one, or the one that the user chooses; then send the prompt that waits."""
    tab, logins, title = on.tab, on.tab.conversation.logins, on.tab.window.session.agent_title
    methods = await logins.methods(tab.window)
    if not methods:
        # Who logged in elsewhere comes here, too: an agent that runs may not have noticed.
        await logins.logged_in(tab.window)
        return _of_tab(on, login_text.no_login_text(title, logins.own_way_in))
    at = 0
    if len(methods) > 1:
        rows = [
            ReportRow(each.name, (login_text.method_kind_text(each),), note=each.description or "")
            for each in methods
        ]
        by_id = {each.id.casefold(): each.name for each in methods}
        name = by_id.get(named.casefold(), named)
        at = await chosen(on, f"Log in to {safe_line(title)}", name, rows)
    match methods[at].kind:
        case login_methods.ENVIRONMENT:
            return _explained(on, methods[at])
        case login_methods.TERMINAL:
            await _in_terminal(on, methods[at])
        case _:
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
    on.surface.say(login_text.login_wait_text(title, method))
    try:
        await logins.log_in(on.tab.window, method.id)
    except (GivenUp, StillAtWork):
        raise
    except AgentError as error:
        words = login_text.login_refused_text(title, str(error), logins.own_way_in)
        raise CommandRefused(_of_tab(on, words).words) from error


async def _in_terminal(on: Here, method: AuthMethod) -> None:
    logins, surface = on.tab.conversation.logins, on.surface
    login = await logins.terminal(on.tab.window, method.id)
    command, leaving = login_text.terminal_login_lines(login.argv)
    if not surface.terminal:
        raise Refused(f"This is no terminal; run {command} in one.")
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
        raise CommandRefused(login_text.login_not_started_text(login.argv[0], error.strerror)) from error
    if status:
        raise CommandRefused(_of_tab(on, login_text.login_failed_text(login.argv[0], status)).words)
    await logins.logged_in(on.tab.window)


def _explained(on: Here, method: AuthMethod) -> Done:
    tab = on.tab
    name = stored_agent_name(tab.agent, tab.profile, on.settings)
    lines = login_text.variable_lines(
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
            on, login_text.logged_in_text(title, owed, edited=await on.surface.resend(tab, owed.returned))
        )
    if owed is not None and not owed.begun:
        await tab.window.retry()
    on.surface.say(_of_tab(on, login_text.logged_in_text(title, owed)).words)  # of the turn that just began
    if owed is None:
        await tab.window.prepare()
    return Done()


def _of_tab(on: Here, words: str) -> Done:
    """The words, with the name of the tab if the user is in another one by now."""
    return Done(words if on.tab is on.tabs.active else f"{on.tab.name()}: {words}")
