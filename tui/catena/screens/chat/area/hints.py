"""The hints of an area: of the part that has the keys, and of what stands beside the composer while that has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.screens.chat.area.panel_stack import PanelStack
from catena.screens.chat.bars.hints import (
    FILES,
    HINTS,
    LEFT_HINTS,
    NEXT_MODE,
    OTHER_PANE,
    WRITING,
    with_vi_modes,
)
from catena.screens.chat.conversation_area import ConversationArea
from catena.screens.chat.prompt.prompt_area import PromptArea

if TYPE_CHECKING:
    from catena.keys.keymap import KeyMap
    from catena.workspace.tab import Tab


class AreaHints:
    """Shows what the keys do in the part of an area that has them."""

    def __init__(self, conversation: ConversationArea, panels: PanelStack, prompt: PromptArea) -> None:
        self._conversation = conversation
        self._panels = panels
        self._prompt = prompt
        self._place = ""  # whose hints are shown

    def show(self, place: str, keys: KeyMap, tab: Tab | None, *, several_panes: bool) -> None:
        """Show the hints of a place; ``tab`` is the one that the composer writes to."""
        if place in ("composer", "elsewhere"):
            place = self._prompt.place
            if place == "composer":
                place = self._waits_for(tab)
        if place != self._place and place not in WRITING:
            self._prompt.hints.give_way()
        self._place = place
        hints = HINTS[place]
        if place == "branch" and not self._panels.fork.confirms:
            hints = hints[1:]
        if place in WRITING and self._prompt.edges.status.modes > 1:
            hints = (NEXT_MODE, *hints)
        if place in WRITING and several_panes:
            hints = (*hints[:-2], OTHER_PANE, *hints[-2:])
        if (files := self._prompt.edges.files) is not None and files.offered and place == "browsing":
            hints = (*hints[:-1], FILES, *hints[-1:])
        if place in WRITING:
            hints = with_vi_modes(hints, inserting=self._prompt.composer.inserting)
        right, left = keys.hints(hints), keys.hints(LEFT_HINTS.get(place, ()))
        self._prompt.hint(right, left, of_composer=place in WRITING)
        self._prompt.edges.show_browsed(*self._conversation.mode_words)

    def _waits_for(self, tab: Tab | None) -> str:
        """What stands beside the composer while it has the keys."""
        if self._conversation.start.display:
            return "starting"
        if self._panels.question is not None:
            return "asked"
        if self._panels.troubled:
            return "troubled"
        if self._prompt.shell.running is not None:
            return "running"
        if tab is None or not tab.busy:
            return "new" if tab is not None and tab.untouched else "composer"
        return "away" if self._prompt.edges.away else "busy"
