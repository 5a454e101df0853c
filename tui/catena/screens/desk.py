"""What every act on the chat screen works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.app import App

from catena.config import Settings
from catena.open_tabs import OpenTabs
from catena.screens.tab_view import Parts, TabView
from catena.start import Start
from catena.tab import Tab

if TYPE_CHECKING:
    from catena.screens.chat import ChatScreen
    from catena_store.records import Attachment


@dataclass(frozen=True, slots=True)
class Desk:
    """The screen, its parts, and the tabs."""

    screen: ChatScreen
    parts: Parts
    tabs: OpenTabs
    view: TabView
    run: Callable[[Awaitable[None]], None]  # do it, and say what goes wrong

    @property
    def app(self) -> App[Any]:
        """The app that screens are pushed on."""
        return self.screen.app

    @property
    def start(self) -> Start:
        """How the screen was started."""
        return self.screen.start

    @property
    def settings(self) -> Settings:
        """The person's settings."""
        return self.screen.start.settings

    @property
    def tab(self) -> Tab | None:
        """The tab that is looked at."""
        return self.tabs.active

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Tell the person, in the hint line."""
        self.parts.hints.say(text, wrong=wrong)

    def give_back(self, tab: Tab, text: str, files: Sequence[Attachment] = ()) -> None:
        """Text that was not sent goes back to where it was written, with what was attached to it."""
        if tab is self.view.shown and not tab.editing:
            tab.attachments = (*files, *tab.attachments)
            self.parts.composer.give_back(text)
        else:
            tab.take_back(text, files)
