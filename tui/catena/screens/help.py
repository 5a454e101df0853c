"""The help: the keys of each place, the commands, the agents."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import partial

from textual.content import Content

from catena.widgets.commands import CommandWords

_COMPOSER = (
    ("enter", "send (queue while the agent works)"),
    ("enter when empty", "send the queued prompts after a stop or an error"),
    ("ctrl+j", "new line"),
    ("esc", "stop the turn (queued prompts then wait for you), or close what is open"),
    ("ctrl+c", "copy the selection; else clear the draft (↑ restores it); when empty: like esc"),
    ("↑ ↓", "prompt history at first/last line; ↓ restores the draft"),
    ("↑ when empty", "edit the newest queued prompt"),
    ("backspace when empty", "remove the last attachment"),
    ("tab after a path", "just pasted or dropped: attach the file"),
    ("ctrl+r", "search prompt history"),
    ("esc esc", "edit an earlier prompt: ↑ ↓ select, enter edit"),
    ("tab", "complete; jump to an open permission"),
    ("ctrl+g", "open your editor ($VISUAL, $EDITOR)"),
    ("ctrl+_", "undo typing"),
    ("end when empty", "go to the end of the transcript"),
    ("ctrl+d when empty", "quit; asks once while an agent works"),
)
_ANYWHERE = (
    ("ctrl+o", "history: open a conversation"),
    ("ctrl+t", "new tab"),
    ("ctrl+pgup, ctrl+pgdn", "previous, next tab"),
    ("ctrl+n", "queued prompts; again or esc: back"),
    ("ctrl+f", "find in the transcript"),
    ("pgup, pgdn, wheel", "scroll; typing still goes to the composer"),
    ("shift+tab", "browse the transcript; again or esc: back"),
    ("ctrl+z", "suspend to the shell (fg returns)"),
    ("ctrl+p", "all commands"),
    ("f1", "this help"),
)
_BROWSING = (
    ("j k ↑ ↓", "next, previous message"),
    ("J K", "next, previous prompt"),
    ("g G", "top, end"),
    ("enter, space", "fold or unfold"),
    ("x", "tool call: raw input and output"),
    ("e", "edit and resend the prompt; the old version and its replies are kept"),
    ("r", "retry the prompt; then a: with another agent"),
    ("f F", "fork from here, in this tab or a new one"),
    ("h l", "previous, next version of the prompt"),
    ("[ ]", "previous, next prompt with versions"),
    ("t", "tree of all branches: go to, compare, fork, quote"),
    ("y Y", "copy the message, copy its code block"),
    ("q", "quote it into the composer"),
    ("c", "see what the agent knew there"),
    ("1–9", "go to a tab"),
    ("esc, shift+tab", "back to the composer"),
)
_QUEUE = (
    ("j k ↑ ↓", "select"),
    ("J K", "move down, up"),
    ("enter", "edit it in the composer"),
    ("s", "send it now: into the running turn if the agent allows it, else the turn is stopped"),
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
    own = "The agent's own commands follow these when you type /."
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
