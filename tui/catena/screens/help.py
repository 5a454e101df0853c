"""The help: the keys of a place on one screen, and behind them the keys of all places, the commands and the agents."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from catena.screens.common.page import Fitted, PageScreen
from catena.widgets.commands import CommandWords
from catena.widgets.foot import SheetKey
from catena.widgets.sheet_head import Subject

_COMPOSER = (
    ("enter", "send (queue while the agent works); empty: send what waits"),
    ("ctrl+j", "new line"),
    ("esc", "stop the turn and hold the queue; close what is open"),
    ("ctrl+c", "copy the selection; else clear the draft (↑ restores it)"),
    ("↑ ↓", "prompt history at first/last line; ↓ restores the draft"),
    ("↑ when empty", "edit the newest queued prompt"),
    ("backspace", "when empty: remove the last attachment"),
    ("tab", "complete; jump to an open permission"),
    ("tab on a path", "just pasted or dropped: attach the file"),
    ("ctrl+r", "search prompt history"),
    ("esc esc", "edit an earlier prompt: ↑ ↓ select, enter edit"),
    ("ctrl+g", "open your editor ($VISUAL, $EDITOR)"),
    ("ctrl+_", "undo typing"),
    ("end", "when empty: go to the end of the transcript"),
    ("ctrl+d", "when empty: quit (asks once while an agent works)"),
    ("shift+tab", "browse the transcript"),
    ("ctrl+o ctrl+p", "history; all commands"),
)
_ANYWHERE = (
    ("ctrl+o", "history: open a conversation"),
    ("ctrl+t", "new tab"),
    ("ctrl+pgup pgdn", "previous, next tab"),
    ("ctrl+n", "queued prompts; again or esc: back"),
    ("ctrl+f", "find in the transcript"),
    ("pgup pgdn", "scroll (or the wheel); typing still goes to the composer"),
    ("shift+tab", "browse the transcript; again or esc: back"),
    ("ctrl+z", "suspend to the shell (fg returns)"),
    ("ctrl+p", "all commands"),
    ("f1", "help for this place"),
)
_BROWSING = (
    ("j k ↑ ↓", "next, previous message"),
    ("J K", "next, previous prompt"),
    ("g G", "top, end"),
    ("enter, space", "fold or unfold"),
    ("x", "tool call: raw input and output"),
    ("e", "edit and resend the prompt (the old version is kept)"),
    ("r", "retry the prompt; then a: with another agent"),
    ("f F", "fork from here, in this tab or a new one"),
    ("h l", "previous, next version of the prompt"),
    ("[ ]", "previous, next prompt with versions"),
    ("t", "tree of all branches: go to, compare, fork, quote"),
    ("y Y", "copy the message, copy its code block"),
    ("q", "quote it into the composer"),
    ("c", "see what the agent knew there"),
    ("u", "undo the last edit, fork, rename or close"),
    ("1–9", "go to a tab"),
    ("esc, shift+tab", "back to the composer"),
)
_QUEUE = (
    ("j k ↑ ↓", "select"),
    ("J K", "move down, up"),
    ("enter", "edit it in the composer"),
    ("s", "send it now: into the running turn, or after stopping it"),
    ("d", "delete it"),
    ("esc, ctrl+n", "back to the composer"),
)
_QUESTION = (
    ("1–9", "choose one of the agent's options; or click"),
    ("y n", "allow once, reject once (if offered)"),
    ("d", "full diff"),
    ("r", "reject with a reason, sent as your next prompt"),
    ("esc", "decide later; tab goes back to it"),
)
_TROUBLE = (
    ("tab", "go to the options; press a letter, or click"),
    ("r", "retry"),
    ("w", "retry when the limit resets; w or esc cancels"),
    ("l a t", "log in; another agent; take over"),
    ("e", "error output"),
    ("esc", "back to the composer; again: dismiss"),
)

SECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "composer": _COMPOSER,
    "browsing": _BROWSING,
    "queue": _QUEUE,
    "question": _QUESTION,
    "trouble": _TROUBLE,
    "anywhere": _ANYWHERE,
}
_SELECTING = (
    "Drag to select; ctrl+c copies through the terminal's clipboard. Hold shift for the terminal's own selection. "
    "Conversations are kept locally; `catena --resume` reopens them."
)
_TITLES = {
    "composer": "While you write",
    "browsing": "While you browse the transcript",
    "queue": "In the queue",
    "question": "When the agent asks for permission",
    "trouble": "When something went wrong",
    "anywhere": "Anywhere",
}


_KEYS = 16  # cells from the keys to what they do
_NARROW = 56  # cells of the text below which words stand under a key


class HelpScreen(PageScreen):
    """The keys of one place; `a` shows all there is, and the keys of the place again."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("a", "all", "all keys", priority=True, id="help.all")]
    KEYS = (SheetKey("a", "all keys and commands", "all"), *PageScreen.KEYS)
    _LESS = (SheetKey("a", "less", "all"), *PageScreen.KEYS)

    def __init__(
        self, place: str, agents: Sequence[tuple[str, str]], commands: Sequence[CommandWords]
    ) -> None:
        self._of_place = partial(keys_text, SECTIONS[place])
        self._of_all = help_text(place, agents, commands)
        self._shows_all = False
        super().__init__("Help", self._of_place, subject=Subject(_TITLES[place]))
        self._place = Subject(_TITLES[place])

    def action_all(self) -> None:
        """Show all keys and commands, or those of the place again."""
        self._shows_all = not self._shows_all
        self.query_one(Fitted).show(self._of_all if self._shows_all else self._of_place)
        self.show_head(subject=Subject() if self._shows_all else self._place)
        self.show_keys(*(self._LESS if self._shows_all else self.KEYS))
        self.reader.scroll_home(animate=False)


def keys_text(keys: Sequence[tuple[str, str]], width: int) -> Content:
    """Keys with what they do, a line each where there is room."""
    return Content("\n").join(_pair(key, does, width) for key, does in keys)


def help_text(
    place: str, agents: Sequence[tuple[str, str]], commands: Sequence[CommandWords]
) -> Callable[[int], Content]:
    """All of the help for a width, with the section of ``place`` first; ``agents``: names, and how to get each."""
    return partial(_help, place, tuple(agents), tuple(commands))


def _help(
    place: str, agents: Sequence[tuple[str, str]], commands: Sequence[CommandWords], width: int
) -> Content:
    return Content("\n").join(_lines(place, agents, commands, width))


def _lines(
    place: str, agents: Sequence[tuple[str, str]], commands: Sequence[CommandWords], width: int
) -> Iterator[Content]:
    for name in (place, *(name for name in SECTIONS if name != place)):
        yield _title(_TITLES[name])
        yield keys_text(SECTIONS[name], width)
        yield Content("")
    yield _title("Commands")
    for command in commands:
        name = f"/{command.name}" + (f" {command.argument}" if command.argument else "")
        yield _pair(name, command.summary, width)
    yield _paragraph("The agent's own commands follow these when you type /.", width).stylize("$faint")
    yield Content("")
    if agents:
        yield _title("Agents")
        yield from (_pair(name, how, width) for name, how in agents)
        yield Content("")
    yield _title("Selecting and copying")
    yield _paragraph(_SELECTING, width)


def _title(text: str) -> Content:
    return Content.styled(text, "bold $muted")


def _pair(key: str, does: str, width: int) -> Content:
    """A key with its meaning beside it, or below it where the page is narrow or the key long."""
    narrow = width < _NARROW
    indent = 2 if narrow else _KEYS
    below = narrow or len(key) >= _KEYS
    lines = textwrap.wrap(does, max(8, width - indent)) or [""]
    body = f"\n{' ' * indent}".join(lines)
    before = f"{key}\n{' ' * indent}" if below else f"{key:<{_KEYS}}"
    return Content.assemble((before, "$foreground"), (body, "$muted"))


def _paragraph(text: str, width: int) -> Content:
    return Content("\n".join(textwrap.wrap(text, max(8, width))))
