"""The help: the keys of each place, the commands, the agents."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import partial

from textual.content import Content

from catena.widgets.commands import CommandWords

_COMPOSER = (
    ("enter", "send; while the agent works: wait in the queue"),
    ("enter when empty", "send what waits after a stop or an error"),
    ("ctrl+j", "new line"),
    ("esc", "stop the turn, close what is open; what waits in the queue then waits for you"),
    ("ctrl+c", "copy what is selected; else clear the draft (↑ brings it back); when empty, as esc"),
    ("↑ ↓", "at the edges: what you typed before; ↓ gives the draft back"),
    ("↑ when empty", "take the newest waiting prompt back"),
    ("backspace when empty", "take off what is attached"),
    ("tab behind a path", "just pasted or dropped: attach the file instead"),
    ("ctrl+r", "search what you typed"),
    ("esc esc", "edit an earlier prompt: ↑ ↓ choose it, enter takes it"),
    ("tab", "complete; to an open question"),
    ("ctrl+g", "your editor ($VISUAL, $EDITOR)"),
    ("ctrl+_", "undo what you typed"),
    ("end when empty", "to the end of the transcript"),
    ("ctrl+d when empty", "quit; asks once while an agent works"),
)
_ANYWHERE = (
    ("ctrl+o", "history: open a conversation"),
    ("ctrl+t", "new tab"),
    ("ctrl+pgup, ctrl+pgdn", "go through the tabs"),
    ("ctrl+n", "the waiting prompts; again, or esc: back"),
    ("ctrl+f", "find in the transcript"),
    ("pgup, pgdn, wheel", "scroll; the focus stays"),
    ("shift+tab", "browse the transcript; again, or esc: back"),
    ("ctrl+z", "suspend: to the shell; fg comes back"),
    ("ctrl+p", "every command"),
    ("f1", "this"),
)
_BROWSING = (
    ("j k ↑ ↓", "message by message"),
    ("J K", "prompt by prompt"),
    ("g G", "to the top, to the end"),
    ("enter, space", "fold, unfold"),
    ("e", "say the prompt in other words; what came after it stays as another version"),
    ("r", "say the prompt again; then a: by another agent"),
    ("f F", "fork from here, in this tab or side by side"),
    ("h l", "the version of the prompt before this one, after it"),
    ("[ ]", "to the next prompt with versions, up and down"),
    ("t", "the tree: every branch, to go to, compare, fork and quote"),
    ("y Y", "copy the message, its code block"),
    ("q", "quote it into the composer"),
    ("c", "what the agent knew there, and what it was told"),
    ("1–9", "go to a tab"),
    ("esc, shift+tab", "back to the composer"),
)
_QUEUE = (
    ("j k ↑ ↓", "choose"),
    ("J K", "let it go later, sooner"),
    ("enter", "change it: back into the composer"),
    ("s", "send it now: into the running turn, where the agent takes that; else the turn is stopped"),
    ("d", "delete it"),
    ("esc, ctrl+n", "back to the composer"),
)
_QUESTION = (
    ("1–9", "the agent's options, in the agent's order; a click does, too"),
    ("y n", "allow once, reject once, where there are such"),
    ("d", "the whole change"),
    ("r", "reject, with a reason that becomes your next prompt"),
    ("esc", "leave it open; tab goes back to it"),
)
_TROUBLE = (
    ("tab", "to what can be done; the letters choose, a click does, too"),
    ("r", "send it again"),
    ("w", "send it again when the limit ends; w or esc: do not"),
    ("l a t", "log in; another agent; take over"),
    ("e", "the agent's last lines"),
    ("esc", "back to the composer; once more: put it away"),
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
    "Drag to select, ctrl+c sends the text to the terminal's clipboard. With shift held, the terminal selects by "
    "itself. A conversation is kept in Catena's own store; `catena --resume` opens it again."
)
_TITLES = {
    "composer": "While you write",
    "browsing": "While you browse the transcript",
    "queue": "In the list of waiting prompts",
    "question": "When the agent asks",
    "trouble": "When something went wrong",
    "anywhere": "Anywhere",
}


_KEYS = 22  # columns
_NARROW = 60


def help_text(
    place: str, agents: Sequence[tuple[str, str]], commands: Sequence[CommandWords]
) -> Callable[[int], Content]:
    """The help for a width, with the section of ``place`` first; ``agents``: names, and how to get each."""
    return partial(_help, place, tuple(agents), tuple(commands))


def _help(
    place: str, agents: Sequence[tuple[str, str]], commands: Sequence[CommandWords], width: int
) -> Content:
    order = [place, *(name for name in SECTIONS if name != place)]
    lines: list[Content] = []
    for name in order:
        lines.append(_title(_TITLES[name]))
        lines += [*(_pair(key, does, width) for key, does in SECTIONS[name]), Content("")]
    lines.append(_title("Commands"))
    for command in commands:
        name = f"/{command.name}" + (f" {command.argument}" if command.argument else "")
        lines.append(_pair(name, command.summary, width))
    own = "The agent's own commands stand below these when you type /."
    lines.append(_paragraph(own, width).stylize("$faint"))
    if agents:
        lines += [Content(""), _title("Agents"), *(_pair(name, how, width) for name, how in agents)]
    lines += [
        Content(""),
        _title("Selecting and copying"),
        _paragraph(_SELECTING, width),
    ]
    return Content("\n").join(lines)


def _title(text: str) -> Content:
    return Content.styled(text, "bold $accent")


def _pair(key: str, does: str, width: int) -> Content:
    """A key with its meaning beside it, or below it where the page is narrow or the key long."""
    narrow = width < _NARROW
    indent = 4 if narrow else 2 + _KEYS
    below = narrow or len(key) >= _KEYS
    lines = textwrap.wrap(does, max(8, width - indent)) or [""]
    body = f"\n{' ' * indent}".join(lines)
    before = f"{key}\n{' ' * indent}" if below else f"{key:<{_KEYS}}"
    return Content.assemble("  ", (before, "$foreground"), (body, "$muted"))


def _paragraph(text: str, width: int) -> Content:
    return Content("\n".join(f"  {line}" for line in textwrap.wrap(text, max(8, width - 2))))
