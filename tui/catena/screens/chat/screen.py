"""The chat screen: the bar of tabs, the panes, and the keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widget import Widget

from catena.keys.bindings import BindingChain, bindings, with_own_keys
from catena.screens.chat.area.area import ChatArea
from catena.screens.chat.bars.tabs import TabBar
from catena.screens.chat.panes import PaneRow
from catena.terminal.compositor import SparingCompositor
from catena.terminal.control.clipboard_reading import ClipboardFailure
from catena.terminal.key_gate import KeyGate
from catena.widgets.column import Centred
from catena.workspace.outgoing import OutgoingTexts

if TYPE_CHECKING:  # the first frame needs none of these
    from catena.desktop.clipboard import ImageClipboard
    from catena.settings.settings import Settings, Start
    from catena.terminal.control.clipboard_reading import ClipboardImage
    from catena.terminal.control.sequences import CallPerson
    from catena.terminal.images import TerminalImages
    from catena.workspace.tabs import OpenTabs


class ChatScreen(Screen[None], inherit_bindings=False):
    """Tabs, and the panes that show one or two of them."""

    AUTO_FOCUS = "Composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            stop="escape",
            copy_clear_or_stop="copy_clear_or_stop",
            next_mode="act('next-mode')",
            browse="act('browse')",
            history="act('history')",
            new_tab="act('new')",
            previous_tab="step_tab(-1)",
            next_tab="step_tab(1)",
            other_pane="act('other-pane')",
            next_question="act('next-question')",
            queue="act('queue')",
            files_too="act('files-too')",
            show_files="act('show-files')",
            find="act('find')",
            palette="act('palette')",
            help="act('help')",
            scroll_up="page(-1)",
            scroll_down="page(1)",
        )
    ]

    def __init__(
        self,
        start: Start,
        *,
        environment: Mapping[str, str],
        gate: KeyGate,
        outgoing: OutgoingTexts,
        call_person: CallPerson,
        clipboard: ImageClipboard,
        leave: Callable[[], None],
        images: TerminalImages,
        half_rows: Callable[[], bool],
    ) -> None:
        """``call_person`` notifies who does not look at the terminal; ``leave`` ends the program.

        ``clipboard`` has the images that are pasted, ``images`` those that the terminal draws; ``half_rows`` tells
        whether grounds reach half a row further.
        """
        super().__init__()
        self._compositor = SparingCompositor()
        self.tab_bar = TabBar(start.directory, id="tabs")

        self._start_options = start

        def make_area() -> ChatArea:
            return ChatArea(
                self._start_options,
                environment=environment,
                gate=gate,
                outgoing=outgoing,
                call_person=call_person,
                clipboard=clipboard,
                leave=leave,
                images=images,
                half_rows=half_rows,
            )

        self.panes = PaneRow(self.tab_bar, make_area, id="panes")

    @property
    def _binding_chain(self) -> BindingChain:
        """The bindings of the focused widget and of all around it, with the person's own keys."""
        return with_own_keys(super()._binding_chain, self._start_options.settings.keys)

    def compose(self) -> ComposeResult:
        """The bar of tabs over the panes."""
        with Centred():
            yield self.tab_bar
        yield self.panes

    @property
    def area(self) -> ChatArea:
        """The area of the pane that has the keys."""
        return self.panes.area

    async def begin(self, tabs: OpenTabs) -> None:
        """Bring the tabs back now that the store is open."""
        await self.panes.begin(tabs)
        self._say_key_problem()

    def _say_key_problem(self) -> None:
        for problem in self._start_options.settings.key_problems[:1]:
            self.say(f"{problem.path.name}:{problem.line}: {problem.why}. `catena config` has all of it.")

    def say(self, text: str) -> None:
        """Tell the person something in the hint line."""
        self.panes.say(text)

    def use_settings(self, settings: Settings) -> None:
        """Use changed settings in every pane; they are those that hold at once."""
        before = self._start_options.settings
        self._start_options = replace(self._start_options, settings=settings)
        self.panes.use(self._start_options)
        if settings.key_problems != before.key_problems:
            self._say_key_problem()

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Focus a widget, but none of a pane that has not the keys: only the person goes from pane to pane."""
        if widget is None or self.panes.may_focus(widget):
            super().set_focus(widget, scroll_visible, from_app_focus)
        elif self.focused is None or not (self.focused.display and self.focused.focusable):
            super().set_focus(self.area.prompt.composer, scroll_visible, from_app_focus)

    def take_clipboard(self, outcome: ClipboardImage | ClipboardFailure) -> None:
        """Attach an image that the terminal pasted, or say why there is none."""
        if isinstance(outcome, ClipboardFailure):
            self.say(outcome.words)
        elif (actions := self.area.chat.opened) is not None:
            actions.attachments.attach_image(outcome.content)

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
        self.area.chat.stay()
        if (actions := self.area.chat.opened) is not None:
            actions.tabs.step(step)

    def action_go_to_tab(self, number: int) -> None:
        """Go to a tab by its number."""
        self.area.chat.stay()
        if (actions := self.area.chat.opened) is not None:
            actions.tabs.go_to(number - 1)

    def action_page(self, step: int) -> None:
        """Scroll by a screenful; the focus stays."""
        self.area.page(step)
