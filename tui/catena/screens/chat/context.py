"""What every action of a chat works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from textual.app import App
from textual.timer import Timer
from textual.widget import Widget

from catena.screens.chat.drafts import Drafts
from catena.screens.chat.presenter import Parts, TabPresenter
from catena.settings.settings import Settings, Start
from catena.terminal.key_gate import KeyGate
from catena.widgets.sheet_head import Subject
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs

if TYPE_CHECKING:
    from catena.transcript import Transcript


class ChatHost(Protocol):
    """The area on the screen that a chat is shown in, as far as actions need it."""

    @property
    def app(self) -> App[Any]:
        """The app that screens are pushed on."""

    @property
    def gate(self) -> KeyGate:
        """The gate at which keys wait for the actions before them."""

    @property
    def start(self) -> Start:
        """The start options of the program."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of the program."""

    @property
    def still(self) -> bool:
        """True if nothing is animated."""

    @property
    def place(self) -> str:
        """The part of the area that has the keys."""

    @property
    def focused(self) -> Widget | None:
        """The widget of the area that has the keys."""

    def set_focus(self, widget: Widget) -> None:
        """Focus a widget, from the next key on."""

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call back after some seconds."""

    def run(self, work: Awaitable[None]) -> None:
        """Run work in the background for as long as the area is on the screen."""

    async def ready_to_show(self) -> None:
        """Get ready to show a tab."""

    def tab_shown(self) -> None:
        """Note that another tab is on the screen."""

    def keep_soon(self) -> None:
        """Save the draft and the scroll position at the next pause."""

    def quote(self, text: str) -> None:
        """Append a quote to the text."""

    def open_link(self, event: Transcript.LinkOpened) -> None:
        """Open a link on the person's machine."""

    def leave(self) -> None:
        """End the program."""


@dataclass(frozen=True, slots=True)
class ChatContext:
    """The area of a chat, its widgets, and the tabs."""

    screen: ChatHost
    parts: Parts
    tabs: OpenTabs
    presenter: TabPresenter
    drafts: Drafts
    run: Callable[[Awaitable[None]], None]  # runs an action, and shows its error

    @property
    def app(self) -> App[Any]:
        """The app that screens are pushed on."""
        return self.screen.app

    @property
    def gate(self) -> KeyGate:
        """The gate at which keys wait for the actions before them."""
        return self.screen.gate

    @property
    def start(self) -> Start:
        """The start options of the program."""
        return self.screen.start

    @property
    def settings(self) -> Settings:
        """The person's settings."""
        return self.screen.start.settings

    @property
    def tab(self) -> Tab | None:
        """The active tab."""
        return self.tabs.active

    @property
    def subject(self) -> Subject:
        """What a sheet over the chat is about: the active tab's conversation, and its agent with the model."""
        tab = self.tab
        if tab is None:
            return Subject()
        session = tab.session or tab.window.session
        return Subject(tab.name(), " · ".join(filter(None, (session.agent_title, session.model or ""))))

    @property
    def seen(self) -> Tab | None:
        """The active tab, once its transcript is on the screen."""
        return self.tab if self.tab is self.presenter.shown else None

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Show a text in the hint line; ``wrong`` if something failed."""
        self.parts.hints.say(text, wrong=wrong)

    def place(self) -> object:
        """The focused widget and the composer's text, to compare before and after a wait."""
        return self.screen.focused, self.parts.composer.text

    def write_here(self) -> None:
        """Focus the composer, from the next key on."""
        self.screen.set_focus(self.parts.composer)
