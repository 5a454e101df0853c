"""The hints of each place of a chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a name of types
    from catena.widgets.hint_line import Hint

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
