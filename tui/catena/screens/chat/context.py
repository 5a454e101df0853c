"""What every action of a chat works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

from catena.acts.surface import Refused
from catena.errors import CommandRefused
from catena.keys.keymap import KeyMap
from catena.screens.chat.drafts import Drafts
from catena.screens.chat.presenter import Parts, TabPresenter
from catena.settings.settings import Settings, Start
from catena.terminal.key_gate import KeyGate
from catena.terminal.programs import EditorFailed
from catena.terminal.times import WENT_ON, in_front
from catena.widgets.sheet_edges import Subject
from catena.workspace.outgoing import DraftPlace, UnplacedDraft, last_place
from catena.workspace.panes import Pane
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs
from catena_acp.errors import AgentError, ReadOnly, StillAtWork
from catena_store.errors import StoreError
from catena_store.ids import utc_now

if TYPE_CHECKING:
    from catena.desktop.clipboard import ImageClipboard
    from catena.screens.chat.bars.tabs import TabLabel
    from catena.screens.history.acts import HistoryChoice
    from catena.terminal.images import TerminalImages
    from catena.transcript import Transcript

# A tab (None: any), a part of the chat, what is written there, and the screen in front.
Place: TypeAlias = tuple[Tab | None, str, str, Sequence[Screen[Any]]]
_TAKES_KEYS = ("question", "form", "page")  # what an agent asks gets the keys of an empty composer by itself


class ScreenPanes(Protocol):
    """The panes of the screen, as far as actions need them."""

    @property
    def room(self) -> bool:
        """True where two panes have room side by side."""

    @property
    def why_no_room(self) -> str:
        """Why two panes do not stand side by side; "" where they do."""

    @property
    def several(self) -> bool:
        """True while more than one pane is open."""

    @property
    def reasoned(self) -> Collection[str]:
        """The ids of the permission requests for whose rejection a reason is being typed, in any pane."""

    def has_keys(self, pane: Pane) -> bool:
        """True for the pane that has the keys."""

    def sees(self, tab: Tab) -> bool:
        """True for a tab that stands in a pane in sight."""

    def give_keys(self, pane: Pane) -> None:
        """Give the keys to an open pane."""

    async def show_beside(self, pane: Pane, tab: Tab, arrived: Callable[[], None]) -> None:
        """Show a tab in the other pane than this one, and give it the keys; ``arrived``: its composer is the tab's."""

    async def stand_beside(self, pane: Pane, tab: Tab) -> None:
        """Show a tab in the other pane than this one; the keys stay where they are."""

    async def open_choice(self, pane: Pane, choice: HistoryChoice) -> None:
        """Do what was chosen in the history, in the pane where that conversation stands."""

    def close(self, pane: Pane) -> None:
        """Close a pane; its tab stays open."""

    def close_empty(self, *, but: Pane | None = None) -> None:
        """Close the panes whose tab is gone, all ``but`` one and the last."""

    def swap(self) -> None:
        """Let the panes change places."""

    def say(self, text: str, *, wrong: bool = False, holds: Callable[[], bool] = ...) -> None:
        """Tell the person something in the pane that has the keys, while it ``holds``."""

    def show_tabs(self, labels: Sequence[TabLabel]) -> None:
        """Show the tabs in their bar, and which one each pane shows."""


class ChatHost(Protocol):
    """The area on the screen that a chat is shown in, as far as actions need it."""

    @property
    def app(self) -> App[Any]:
        """The app that screens are pushed on."""

    @property
    def gate(self) -> KeyGate:
        """The gate at which keys wait for the actions before them."""

    @property
    def clipboard(self) -> ImageClipboard:
        """The images on the person's clipboard."""

    @property
    def images(self) -> TerminalImages | None:
        """The images that the terminal draws."""

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

    def run_worker(self, work: Coroutine[Any, Any, None], *, group: str) -> object:
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

    def open_address(self, address: str) -> None:
        """Open a web page on the person's machine."""

    def leave(self) -> None:
        """End the program."""


@dataclass(frozen=True, slots=True)
class ChatContext:
    """The area of a chat, its widgets, and the tabs."""

    screen: ChatHost
    parts: Parts
    tabs: OpenTabs
    pane: Pane
    panes: ScreenPanes
    presenter: TabPresenter
    drafts: Drafts

    def run(self, act: Awaitable[None]) -> None:
        """Let an action go on by itself, and say what goes wrong."""
        self.screen.run_worker(self._guarded(act), group="acts")

    async def _guarded(self, act: Awaitable[None]) -> None:
        try:
            await act
        except Refused as refused:
            self.say(str(refused))
        except StillAtWork:
            self.say(self.keys.said("The agent is still working; {Stop} stops it."))
        except (CommandRefused, AgentError, StoreError, ReadOnly, EditorFailed) as error:
            self.say(str(error), wrong=True)
        finally:
            self.panes.close_empty()

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

    def clock(self) -> datetime:
        """The time that ages and times of day are told by."""
        return (self.start.clock or utc_now)()

    @property
    def settings(self) -> Settings:
        """The person's settings."""
        return self.screen.start.settings

    @property
    def keys(self) -> KeyMap:
        """The keys in effect."""
        return self.settings.keys

    @property
    def tab(self) -> Tab | None:
        """The active tab: that of this pane."""
        return self.pane.tab

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

    @property
    def writing(self) -> bool:
        """True unless an empty composer has the keys: what asks unasked would take those that are meant elsewhere."""
        composer = self.parts.composer
        return not in_front(composer) or self.screen.place != "composer" or composer.text != ""

    def still_at(self, tab: Tab) -> bool:
        """True while a tab is in sight; else say that the person has gone on: an act would be done elsewhere."""
        at = tab is self.seen and in_front(self.parts.composer)
        if not at:
            self.say(WENT_ON)
        return at

    def say(self, text: str, *, wrong: bool = False, holds: Callable[[], bool] = lambda: True) -> None:
        """Show a text in the hint line, where that is on the screen; ``wrong`` if something failed.

        It goes with its tab, or as soon as it no longer ``holds``.
        """
        tab = self.tab
        if self.pane.in_sight:
            self.parts.hints.say(text, wrong=wrong, holds=holds)
        else:
            self.panes.say(text, wrong=wrong, holds=lambda: self.tab is tab and holds())

    def quote_into(self, draft: DraftPlace, text: str) -> None:
        """Quote into a draft, such as that of a tab, whichever is on the screen by now."""
        place = last_place(draft)
        if place is self.drafts.place:
            self.screen.quote(text)
        elif not isinstance(place, UnplacedDraft) and place in self.tabs.tabs:
            self.drafts.append(place, text)

    def place(self) -> Place:
        """Where the keys go, and the composer's text, to compare after a wait; the first tab comes by itself."""
        tab = self.tab if self.presenter.shown else None
        return tab, self.screen.place, self.parts.composer.text, self.app.screen_stack[-1:]

    def went_on(self, place: Place) -> bool:
        """True if the person has left a place or written there since, which is said: an act would take their keys."""
        (tab, before, *_), (_, part, *rest) = place, self.place()
        asked = before == "composer" and part in _TAKES_KEYS
        if asked or not self.app.app_focus:  # who looks at another window has no part with the keys
            part = before
        if gone := (tab and self.tab, part, *rest) != place:
            self.say(WENT_ON)
        return gone

    def write_here(self) -> None:
        """Focus the composer, from the next key on."""
        self.screen.set_focus(self.parts.composer)
