"""The chat screen: the bar of tabs, a chat area, and the keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from catena.screens.chat.area import ChatArea
from catena.screens.chat.bars.tabs import TabBar
from catena.terminal.compositor import SparingCompositor
from catena.terminal.key_gate import KeyGate
from catena.widgets.column import Centred
from catena.workspace.outgoing import OutgoingTexts

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.settings.settings import Start
    from catena.workspace.tabs import OpenTabs


class ChatScreen(Screen[None], inherit_bindings=False):
    """Tabs, and the area that shows one of them."""

    AUTO_FOCUS = "Composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "escape", "stop, close", id="stop"),
        Binding("ctrl+c,super+c", "copy_clear_or_stop", "copy, clear, stop", id="copy_clear_or_stop"),
        Binding("shift+tab", "act('browse')", "browse", id="browse"),
        Binding("ctrl+o", "act('history')", "history", id="history"),
        Binding("ctrl+t", "act('new')", "new tab", id="tab.new"),
        Binding("ctrl+pageup", "step_tab(-1)", "previous tab", id="tab.previous"),
        Binding("ctrl+pagedown", "step_tab(1)", "next tab", id="tab.next"),
        Binding("ctrl+n", "act('queue')", "queued prompts", id="queue"),
        Binding("ctrl+f", "act('find')", "find", id="find"),
        Binding("ctrl+p", "act('palette')", "all commands", id="palette"),
        Binding("f1", "act('help')", "help", id="help"),
        Binding("pageup", "page(-1)", "scroll up", id="scroll.up"),
        Binding("pagedown", "page(1)", "scroll down", id="scroll.down"),
    ]

    def __init__(
        self,
        start: Start,
        *,
        environment: Mapping[str, str],
        gate: KeyGate,
        outgoing: OutgoingTexts,
        notify_terminal: Callable[[str], None],
        leave: Callable[[], None],
    ) -> None:
        """``notify_terminal`` notifies the person while the terminal has no focus; ``leave`` ends the program."""
        super().__init__()
        self._compositor = SparingCompositor()
        self.tab_bar = TabBar(start.directory, id="tabs")
        self.area = ChatArea(
            start,
            environment=environment,
            gate=gate,
            outgoing=outgoing,
            notify_terminal=notify_terminal,
            leave=leave,
            id="area",
        )

    def compose(self) -> ComposeResult:
        """The bar of tabs over the area."""
        with Centred():
            yield self.tab_bar
        yield self.area

    async def begin(self, tabs: OpenTabs) -> None:
        """Bring the tabs back now that the store is open."""
        await self.area.begin(tabs, show_tabs=self.tab_bar.show)

    def say(self, text: str) -> None:
        """Tell the person something in the hint line."""
        self.area.say(text)

    def on_tab_bar_wanted(self, event: TabBar.Wanted) -> None:
        """Go to the tab that was clicked."""
        self.action_go_to_tab(event.index + 1)

    # Keys.

    def action_act(self, name: str) -> None:
        """Do what the command of this name does."""
        self.area.do(name)

    def action_escape(self) -> None:
        """Close what is open, the innermost first; else stop the turn."""
        self.area.escape()

    def action_copy_clear_or_stop(self) -> None:
        """Copy what is selected; else clear the draft; else close or stop."""
        self.area.copy_clear_or_stop()

    def action_step_tab(self, step: int) -> None:
        """Go through the tabs."""
        self.area.commands.step_tab(step)

    def action_go_to_tab(self, number: int) -> None:
        """Go to a tab by its number."""
        self.area.commands.go_to_tab(number - 1)

    def action_page(self, step: int) -> None:
        """Scroll by a screenful; the focus stays."""
        self.area.page(step)
