"""The hints of each place of a chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a name of types
    from catena.widgets.key_hints import Hint

_HELP = ("f1", "help")
HINTS: dict[str, tuple[Hint, ...]] = {  # where there is no room, the first ones go first
    "composer": (("esc esc", "edit a prompt"), ("ctrl+o", "history"), ("/", "commands"), _HELP),
    "starting": (("ctrl+d", "quit"), ("ctrl+o", "history"), ("↑↓", "choose"), _HELP),
    "busy": (("enter", "queue"), ("esc", "stop"), _HELP),
    "away": (("enter", "queue"), ("esc", "stop"), ("end", "newest line"), _HELP),
    "asked": (("tab", "answer"), ("esc", "stop"), _HELP),
    "troubled": (("tab", "choose"), ("esc", "dismiss"), _HELP),
    "completing": (("↑ ↓", "choose"), ("tab", "complete"), ("enter", "run"), ("esc", "close")),
    "browsing": (
        ("[ ]", "branches"),
        ("t", "tree"),
        ("q", "quote"),
        ("f", "fork"),
        ("y", "copy"),
        ("r", "retry"),
        ("e", "edit"),
        ("esc", "back"),
    ),
    "choosing": (("f", "fork"), ("r", "retry"), ("enter", "edit"), ("esc", "back")),
    "branch": (("enter", "run"), ("esc", "cancel")),
    "editing": (("esc", "your draft back"), _HELP),
    "question": (("esc", "decide later"), _HELP),
    "trouble": (("esc esc", "dismiss"), ("esc", "back"), _HELP),
    "queue": (
        ("↑ ↓", "choose"),
        ("J K", "move"),
        ("s", "send now"),
        ("d", "delete"),
        ("enter", "change"),
        ("esc", "back"),
    ),
    "reason": (("enter", "reject and send"), ("esc", "back")),
    "finding": (("enter ↓", "next"), ("↑", "previous"), ("esc", "close")),
}
LEFT_HINTS: dict[str, tuple[Hint, ...]] = {  # in the place of the placeholder
    "browsing": (("j k", "message"), ("J K", "prompt")),
    "choosing": (("↑ ↓", "choose a prompt"),),
}
# Their hints go with the first letter.
WRITING = ("composer", "starting", "busy", "away", "asked", "troubled", "editing")
