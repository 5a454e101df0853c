"""The help: the keys of a place on one screen, and behind them the keys of all places, the commands and the agents."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from catena.keys.actions import ACTIONS, PLACES
from catena.keys.bindings import priority_bindings
from catena.keys.keymap import DEFAULT_KEYS, KeyMap
from catena.screens.common.page import Fitted, PageScreen
from catena.settings.templates import Template, used_templates
from catena.widgets.commands import CommandWords
from catena.widgets.sheet_edges import SheetKey, Subject

_Row = str | tuple[str, str]  # an action in the words of the table of keys; or a template of keys, with words

_COMPOSER: tuple[_Row, ...] = (
    "send",
    "new_line",
    "stop",
    ("{copy_clear_or_stop}", "copy the selection; else clear the draft (↑ restores it)"),
    ("{text_up} {text_down}", "prompt history at first/last line; ↓ restores the draft"),
    ("{text_up} when empty", "edit the newest queued prompt"),
    ("{delete_left}", "when empty: remove the last attachment"),
    ("@", "@path sends the file, @path:10-20 those lines; \\@ is text"),
    ("!", "first: run a shell command; its output goes into the prompt"),
    ("{complete}", "complete; jump to an open question"),
    ("{complete} on a path", "just pasted or dropped: attach the file"),
    ("{paste}", "attach the image on the clipboard"),
    "search_inputs",
    ("{stop} {stop}", "edit an earlier prompt: ↑ ↓ select, enter edit"),
    "editor",
    ("{follow}", "when empty: go to the end of the transcript"),
    ("{quit}", "when empty: quit (asks once while an agent works)"),
    ("{next_mode}", "the agent's next mode: what it may do unasked"),
    ("{browse}", "browse the transcript"),
    ("{history} {palette}", "history; all commands"),
)
_ANYWHERE: tuple[_Row, ...] = (
    "history",
    "new_tab",
    "previous_tab",
    "next_tab",
    ("{other_pane}", "the other pane (/side opens one); or click"),
    "next_question",
    ("{queue}", "queued prompts; again or esc: back"),
    "find",
    ("{scroll_up} {scroll_down}", "scroll (or the wheel); typing still goes to the composer"),
    ("{next_mode}", "the agent's next mode: what it may do unasked"),
    ("{browse}", "browse the transcript; again or esc: back"),
    "suspend",
    "palette",
    "help",
)
_BROWSING: tuple[_Row, ...] = (
    ("{*next_message previous_message}", "next, previous message"),
    ("{*next_prompt previous_prompt}", "next, previous prompt"),
    ("{top end}", "top, end"),
    "*fold",
    "raw",
    "edit",
    ("{retry}", "retry the prompt; then a: with another agent"),
    ("{fork fork_beside}", "fork from here, in this tab, side by side or in a new one"),
    ("{previous_version next_version}", "previous, next version of the prompt"),
    ("{branch_point_above branch_point_below}", "previous, next prompt with versions"),
    "tree",
    ("{copy_message copy_code}", "copy the message, copy its code block"),
    ("{open_image save_image}", "open, save the agent's image"),
    "quote",
    ("{turn_changes}", "what its turn changed in files"),
    "context",
    "undo",
    ("{*tab_1 tab_2 tab_3 tab_4 tab_5 tab_6 tab_7 tab_8 tab_9}", "go to a tab"),
    ("{stop}, {browse}", "back to the composer"),
)
_QUEUE: tuple[_Row, ...] = (
    ("{*previous_queued next_queued}", "select"),
    ("{send_later send_sooner}", "move down, up"),
    "edit_queued",
    "send_now",
    "delete_queued",
    ("{stop}, {queue}", "back to the composer"),
)
_QUESTION: tuple[_Row, ...] = (
    (
        "{*option_1 option_2 option_3 option_4 option_5 option_6 option_7 option_8 option_9}",
        "choose one of the agent's options; or click",
    ),
    ("{allow reject}", "allow once, reject once (if offered)"),
    ("{always}, {narrower_rule} {wider_rule}", "allow by a rule of yours in this project; narrower, wider"),
    "diff",
    "reason",
    ("{stop}", "decide later; tab goes back to it"),
)
_BRANCH: tuple[_Row, ...] = (
    "branch_do",
    "branch_agent",
    "branch_beside",
    "branch_files",
    "branch_show_files",
    "branch_finish",
    "branch_take_back",
    ("{stop}", "cancel"),
)
_FORM: tuple[_Row, ...] = (
    ("{next_field}, {previous_field}", "next, previous field (or ↑ ↓)"),
    "take_field",
    ("{choose} 1–9", "choose; or click"),
    ("{decline}", "decline, outside of text (tab goes there)"),
    ("{stop}", "decide later; tab goes back to it"),
)
_TROUBLE: tuple[_Row, ...] = (
    ("{complete}", "go to the options; press a letter, or click"),
    "trouble_retry",
    ("{trouble_wait}", "retry when the limit resets; again or esc cancels"),
    ("{trouble_login trouble_agent trouble_takeover}", "log in; another agent; take over"),
    "trouble_stderr",
    ("{stop}", "back to the composer; again: dismiss"),
)


def _row(row: _Row) -> tuple[str, str]:
    return row if isinstance(row, tuple) else (f"{{{row}}}", ACTIONS[row.removeprefix("*")].does)


SECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    place: tuple(map(_row, rows))
    for place, rows in (
        ("composer", _COMPOSER),
        ("browsing", _BROWSING),
        ("queue", _QUEUE),
        ("question", _QUESTION),
        ("branch", _BRANCH),
        ("form", _FORM),
        ("trouble", _TROUBLE),
        ("anywhere", _ANYWHERE),
    )
}
_SELECTING = (
    "Drag to select; ctrl+c copies through the terminal's clipboard. Hold shift for the terminal's own selection. "
    "Conversations are kept locally; `catena --resume` reopens them."
)
_KEYS = 16  # cells from the keys to what they do
_NARROW = 56  # cells of the text below which words stand under a key


class HelpScreen(PageScreen):
    """The keys of one place, or what one command does; `a` shows all there is, and these again."""

    BINDINGS: ClassVar[list[BindingType]] = [*priority_bindings(help_all="all")]
    KEYS = (SheetKey("{help_all}", "all keys and commands", "all"), *PageScreen.KEYS)
    _LESS = (SheetKey("{help_all}", "less", "all"), *PageScreen.KEYS)

    def __init__(
        self,
        place: str,
        agents: Sequence[tuple[str, str]],
        commands: Sequence[CommandWords],
        keys: KeyMap = DEFAULT_KEYS,
        templates: Sequence[Template] = (),
        *,
        about: Sequence[tuple[str, str]] = (),
        everything: bool = False,
    ) -> None:
        """``about``: the command that is shown in place of the keys, and its verbs; ``everything``: begin with all."""
        self._first = partial(keys_text, about or keys.hints(SECTIONS[place]))
        self._of_all = help_text(place, agents, commands, keys, templates)
        self._shows_all = everything
        self._of_first = Subject() if about else Subject(PLACES[place].title)
        shown = self._of_all if everything else self._first
        super().__init__("Help", shown, subject=Subject() if everything else self._of_first)

    def on_mount(self) -> None:
        """Name the keys of what is shown first."""
        self._show_keys()

    def action_all(self) -> None:
        """Show all keys and commands, or what was shown first again."""
        self._shows_all = not self._shows_all
        self.query_one(Fitted).show(self._of_all if self._shows_all else self._first)
        self.show_head(subject=Subject() if self._shows_all else self._of_first)
        self._show_keys()
        self.reader.scroll_home(animate=False)

    def _show_keys(self) -> None:
        self.show_keys(*(self._LESS if self._shows_all else self.KEYS))


def keys_text(keys: Sequence[tuple[str, str]], width: int) -> Content:
    """Keys with what they do, a line each if there is room."""
    return Content("\n").join(_pair(key, does, width) for key, does in keys)


def help_text(
    place: str,
    agents: Sequence[tuple[str, str]],
    commands: Sequence[CommandWords],
    keys: KeyMap = DEFAULT_KEYS,
    templates: Sequence[Template] = (),
) -> Callable[[int], Content]:
    """All of the help for a width, with the section of ``place`` first; ``agents``: names, and how to get each."""
    return partial(_help, place, tuple(agents), tuple(commands), keys, tuple(templates))


def _help(
    place: str,
    agents: Sequence[tuple[str, str]],
    commands: Sequence[CommandWords],
    keys: KeyMap,
    templates: Sequence[Template],
    width: int,
) -> Content:
    return Content("\n").join(_lines(place, agents, commands, keys, templates, width))


def _lines(
    place: str,
    agents: Sequence[tuple[str, str]],
    commands: Sequence[CommandWords],
    keys: KeyMap,
    templates: Sequence[Template],
    width: int,
) -> Iterator[Content]:
    for name in (place, *(name for name in SECTIONS if name != place)):
        yield _title(PLACES[name].title)
        yield keys_text(keys.hints(SECTIONS[name]), width)
        yield Content("")
    yield _title("Commands")
    for command in commands:
        if command.words == command.name:
            verbs = (each for each in commands if each.words.startswith(f"{command.name} "))
            for each in (command, *verbs):
                yield _pair(f"/{each.words} {each.argument}".rstrip(), each.summary, width)
    if used := used_templates(templates):
        yield Content("")
        yield _title("Prompt templates")
        for _, template in sorted(used.items()):
            yield _pair(template.usage, template.description, width)
        yield Content("")
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
