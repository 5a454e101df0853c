"""Quitting, which is asked about once while agents work."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from catena.keys.keymap import DEFAULT_KEYS, KeyMap
from catena.screens.chat.context import ChatContext
from catena.text.formats import background_words
from catena.workspace.tab import Tab


def quit_question(
    working: Sequence[Tab],
    active: Tab | None,
    background: Sequence[str] = (),
    keys: KeyMap = DEFAULT_KEYS,
) -> str:
    """The question before quitting stops the turns of these tabs, and work in the ``background``; "" for nothing."""
    if not working and not background:
        return ""
    agents = list(dict.fromkeys(tab.agent_title for tab in working))
    parts = []
    if agents:
        *others, last = agents
        who = f"{', '.join(others)} and {last} are working" if others else f"{last} is working"
        if len(working) > 1:
            where = f" in {len(working)} tabs"
        else:
            where = "" if working[0] is active else f" in the tab “{working[0].name()}”"
        parts.append(f"{who}{where}")
    if background:
        parts.append(background_words(background))
    several = len(agents) + len(background) > 1
    ways = keys.said(
        f"{{Quit}} or /quit again stops {'them' if several else 'it'} and quits; {{Stop}} cancels."
    )
    return f"{'; '.join(parts)}. {ways}"


class QuitActions:
    """Quitting, and the question before it, which stands until it is answered or something else is done."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._question = ""

    def quit(self) -> Awaitable[None]:
        """End the program, the tabs come back with the next one; ask first while an agent works."""
        context = self._context
        working = [tab for tab in context.tabs.tabs if tab.window.at_work and not tab.conversation.read_only]
        left_running = [task.title for tab in context.tabs.tabs for task in tab.window.background]
        question = quit_question(working, context.tab, left_running, context.keys)
        if self._question or not question:
            return self._leave()
        self._question = question
        self.ask()
        return _nothing()

    async def _leave(self) -> None:
        self._context.screen.leave()

    def ask(self) -> None:
        """Show the question where it stands: a key has taken it off the hint line."""
        if self._question:
            self._context.say(self._question)

    def stay(self) -> bool:
        """Withdraw the question; False if there was none."""
        asked, self._question = bool(self._question), ""
        if asked:
            self._context.parts.hints.hush()
        return asked


async def _nothing() -> None:
    """Do nothing."""
