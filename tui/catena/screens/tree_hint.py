"""The keys that are of use in the tree just now, as its last line says them."""

from __future__ import annotations

from textual.content import Content

from catena.screens.key_hints import key_hints


def tree_hint(*, wide: bool, lines: bool, typing: bool, found: bool) -> Content:
    """``lines``: there are any; ``typing``: letters go into the search; ``found``: the lines are a list of hits.

    What has to be seen stands first where there is little room: a short terminal shows one line of it.
    """
    back = ("esc whole tree" if typing or found else "esc back", "leave")
    if typing:
        return key_hints(("enter keep these", "keep"), back) if lines else key_hints(back)
    search = ("/ search", "search")
    if not lines:
        return key_hints(search, back) if found else key_hints(back)
    more = [("m mark", "mark"), ("d what differs", "compare"), ("f fork", "fork"), ("q quote", "quote")]
    fold = [] if found else [("space fold", "fold")]
    if wide:
        return key_hints(("enter go there", "go"), *fold, search, *more, back)
    return key_hints(("enter go", "go"), search, back, *fold, *more)
