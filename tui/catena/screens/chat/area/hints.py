"""The hints of an area: of each of its parts, and of what stands beside the composer while that has the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.screens.chat.area.panel_stack import PanelStack
from catena.screens.chat.conversation_area import ConversationArea
from catena.screens.chat.prompt.prompt_area import PromptArea

if TYPE_CHECKING:  # for annotations alone
    from catena.keys.keymap import KeyMap
    from catena.widgets.hint_line import Hint
    from catena.workspace.tab import Tab


_HELP = ("{help}", "help")
OTHER_PANE = ("{other_pane}", "other pane")  # while there is one
NEXT_MODE = ("{next_mode}", "mode")  # if the agent offers several
HINTS: dict[str, tuple[Hint, ...]] = {  # where there is no room, the first ones go first
    "composer": (
        ("{stop} {stop}", "edit a prompt"),
        ("{history}", "history"),
        ("@", "files"),
        ("/", "commands"),
        _HELP,
    ),
    "new": (("{history}", "history"), ("@", "files"), ("/", "commands"), _HELP),
    "starting": (("{quit}", "quit"), ("{history}", "history"), ("{text_up text_down}", "choose"), _HELP),
    "busy": (("{send}", "queue"), ("{stop}", "stop"), _HELP),
    "away": (("{send}", "queue"), ("{stop}", "stop"), ("{follow}", "newest line"), _HELP),
    "asked": (("{complete}", "answer"), ("{stop}", "stop"), _HELP),
    "troubled": (("{complete}", "choose"), ("{stop}", "dismiss"), _HELP),
    "completing": (
        ("{text_up} {text_down}", "choose"),
        ("{complete}", "complete"),
        ("{send}", "run"),
        ("{stop}", "close"),
    ),
    "guessing": (("{text_up} {text_down}", "choose"), ("{complete} {send}", "complete"), ("{stop}", "close")),
    "shell": (("{send}", "run"),),
    "running": (("{stop}", "stop the command"), _HELP),
    "mentioning": (("{text_up} {text_down}", "choose"), ("{send}", "take"), ("{stop}", "close")),
    "browsing": (
        ("{branch_point_above branch_point_below}", "branches"),
        ("{tree}", "tree"),
        ("{quote}", "quote"),
        ("{fork}", "fork"),
        ("{copy_message}", "copy"),
        ("{retry}", "retry"),
        ("{edit}", "edit"),
        ("{stop}", "back"),
    ),
    "choosing": (("{fork}", "fork"), ("{retry}", "retry"), ("{fold}", "edit"), ("{stop}", "back")),
    "branch": (("{branch_do}", "confirm"), ("{stop}", "cancel")),
    "editing": (("{stop}", "your draft back"), _HELP),
    "question": (("{stop}", "decide later"), _HELP),
    "form": (("{next_field}", "next field"), ("{stop}", "decide later"), _HELP),
    "page": (("{next_field}", "next"), ("{stop}", "decide later"), _HELP),
    "trouble": (("{stop} {stop}", "dismiss"), ("{stop}", "back"), _HELP),
    "queue": (
        ("{previous_queued} {next_queued}", "choose"),
        ("{send_now}", "send now"),
        ("{delete_queued}", "delete"),
        ("{send_later send_sooner}", "move"),
        ("{edit_queued}", "change"),
        ("{stop}", "back"),
    ),
    "reason": (("{accept}", "reject and send"), ("{stop}", "back")),
    "finding": (("{accept} {find_next}", "next"), ("{find_previous}", "previous"), ("{stop}", "close")),
}
FILES = ("{files_too}", "files too")  # while there is something to choose
LEFT_HINTS: dict[str, tuple[Hint, ...]] = {  # in the place of the placeholder
    "browsing": (("{next_message previous_message}", "message"), ("{next_prompt previous_prompt}", "prompt")),
    "choosing": (("{*previous_message next_message}", "choose a prompt"),),
    "trouble": (("press", "a letter"),),
}
_TYPED = ("@", "/")  # keys that are letters of the text
# Their hints go with the first letter.
WRITING = ("composer", "new", "starting", "busy", "running", "away", "asked", "troubled", "editing")


def with_vi_modes(hints: tuple[Hint, ...], *, inserting: bool | None) -> tuple[Hint, ...]:
    """The hints of a place where one writes, as they hold in a mode of vi; ``inserting`` is None without vi's keys.

    The first Escape leaves insert mode, and outside of it no letter is typed.
    """
    match inserting:
        case None:
            return hints
        case True:
            return tuple(
                (f"{{stop}} {key}" if key.startswith("{stop}") else key, does) for key, does in hints
            )
        case False:
            return tuple((key, does) for key, does in hints if key not in _TYPED)


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
