"""What every act on the chat screen works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.app import App

from catena.screens.chat.drafts import Handover
from catena.screens.chat.presenter import Parts, TabPresenter
from catena.settings.settings import Settings, Start
from catena.terminal.key_gate import KeyGate
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs

if TYPE_CHECKING:
    from catena.screens.chat.screen import ChatScreen
    from catena_store.records import Attachment


@dataclass(frozen=True, slots=True)
class ChatContext:
    """The screen, its parts, and the tabs."""

    screen: ChatScreen
    parts: Parts
    tabs: OpenTabs
    view: TabPresenter
    handover: Handover
    run: Callable[[Awaitable[None]], None]  # do it, and say what goes wrong

    @property
    def app(self) -> App[Any]:
        """The app that screens are pushed on."""
        return self.screen.app

    @property
    def gate(self) -> KeyGate:
        """Where keys wait for what was asked for before them."""
        return self.screen.gate

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

    @property
    def seen(self) -> Tab | None:
        """The same, where its transcript is on the screen: the messages that can be pointed at are its own."""
        return self.tab if self.tab is self.view.shown else None

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Tell the person, in the hint line."""
        self.parts.hints.say(text, wrong=wrong)

    def give_back(self, tab: Tab, text: str, files: Sequence[Attachment] = ()) -> None:
        """Text that was not sent goes back to where it was written, with what was attached to it."""
        self.handover.rewrite(tab, lambda: tab.take_back(text, files))

    def place(self) -> object:
        """Where the keys go, and what is written there: whoever asks before and behind a wait sees if one went on."""
        return self.screen.focused, self.parts.composer.text

    def write_here(self) -> None:
        """Give the keys to the composer, with the very next key."""
        self.screen.set_focus(self.parts.composer)
