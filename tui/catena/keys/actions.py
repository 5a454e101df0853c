"""The one table of actions that a key does: bindings, hints, help, settings and documents are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from catena.keys.sheet_actions import SHEET_PLACES, SHEETS

Row = tuple[str, str, str]  # a name, default keys in one text, and what they do


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """A part of the screen that has the keys at times.

    ``within``: places whose keys hold there, too. In a place where one ``types``, keys are no characters.
    """

    name: str
    title: str
    within: tuple[str, ...] = ()
    types: bool = False


@dataclass(frozen=True, slots=True)
class KeyAction:
    """One action: its name in the settings, where it is done, its default keys, and the words of the help."""

    name: str
    place: str
    keys: tuple[str, ...]  # spelled as `spelled` does; the first one is shown
    does: str


_CHAT_PLACES = (
    KeyPlace("everywhere", "Everywhere", types=True),
    KeyPlace("text", "In every text field", ("everywhere",), types=True),
    KeyPlace("anywhere", "Anywhere in a chat", ("everywhere",), types=True),
    KeyPlace("composer", "While you write", ("text", "anywhere", "everywhere"), types=True),
    KeyPlace("browsing", "While you browse the transcript", ("anywhere", "everywhere")),
    KeyPlace("queue", "In the queue", ("anywhere", "everywhere")),
    KeyPlace("question", "When the agent asks for permission", ("anywhere", "everywhere")),
    KeyPlace("branch", "Before a fork or a retry", ("anywhere", "everywhere")),
    KeyPlace("form", "When the agent asks for input", ("anywhere", "everywhere")),
    KeyPlace("choices", "In the choices of a form", ("form", "anywhere", "everywhere")),
    KeyPlace("trouble", "When something went wrong", ("anywhere", "everywhere")),
    KeyPlace("finding", "While you search the transcript", ("text", "anywhere", "everywhere"), types=True),
)

_EVERYWHERE: tuple[Row, ...] = (
    ("help", "f1", "help for this place"),
    ("suspend", "ctrl+z", "suspend to the shell (fg returns)"),
)
_TEXT: tuple[Row, ...] = (
    ("accept", "enter", "finish a field of one line; choose what a list offers"),
    ("text_up", "up", "a line up"),
    ("text_down", "down", "a line down"),
    ("text_left", "left", "a character to the left"),
    ("text_right", "right", "a character to the right"),
    ("text_word_left", "ctrl+left", "a word to the left"),
    ("text_word_right", "ctrl+right", "a word to the right"),
    ("text_start", "home ctrl+a", "start of the line"),
    ("text_end", "end ctrl+e", "end of the line"),
    ("select_up", "shift+up", "select a line up"),
    ("select_down", "shift+down", "select a line down"),
    ("select_left", "shift+left", "select to the left"),
    ("select_right", "shift+right", "select to the right"),
    ("select_word_left", "ctrl+shift+left", "select a word to the left"),
    ("select_word_right", "ctrl+shift+right", "select a word to the right"),
    ("select_to_start", "shift+home", "select to the start of the line"),
    ("select_to_end", "shift+end", "select to the end of the line"),
    ("select_line", "", "select the line"),
    ("select_all", "f7 ctrl+shift+a", "select everything"),
    ("delete_left", "backspace", "delete the character on the left"),
    ("delete_right", "delete ctrl+d", "delete the character on the right"),
    ("delete_word_left", "ctrl+w ctrl+backspace alt+backspace", "delete the word on the left"),
    ("delete_word_right", "alt+delete", "delete the word on the right"),
    ("delete_to_start", "ctrl+u super+backspace", "delete to the start of the line"),
    ("delete_to_end", "ctrl+k", "delete to the end of the line"),
    ("delete_line", "ctrl+shift+k", "delete the line"),
    ("copy", "ctrl+c super+c", "copy what is selected"),
    ("cut", "ctrl+x super+x", "cut what is selected"),
    ("paste", "ctrl+v super+v", "paste what was cut here; while you write: the image on the clipboard"),
    ("redo_typing", "ctrl+y super+y", "redo typing"),
)
_ANYWHERE: tuple[Row, ...] = (
    ("stop", "escape", "stop the turn and hold the queue; close what is open"),
    ("copy_clear_or_stop", "ctrl+c super+c", "copy the selection; else clear the draft; else stop"),
    ("browse", "shift+tab", "browse the transcript; again: back"),
    ("history", "ctrl+o", "history: find and open a conversation"),
    ("new_tab", "ctrl+t", "new tab"),
    ("previous_tab", "ctrl+pageup", "previous tab"),
    ("next_tab", "ctrl+pagedown", "next tab"),
    ("other_pane", "f6", "the other of two panes"),
    ("next_question", "f8", "next tab whose agent asks"),
    ("queue", "ctrl+n", "queued prompts; again: back"),
    ("files_too", "f4", "files too: they go back, or along to another branch"),
    ("show_files", "f3", "show what would become of files"),
    ("find", "ctrl+f", "find in the transcript"),
    ("palette", "ctrl+p", "all commands"),
    ("scroll_up", "pageup", "scroll up"),
    ("scroll_down", "pagedown", "scroll down"),
)
_COMPOSER: tuple[Row, ...] = (
    ("send", "enter", "send (queue while the agent works); empty: send what waits"),
    ("new_line", "ctrl+j shift+enter", "new line"),
    ("complete", "tab", "complete; attach a pasted path; jump to an open question"),
    ("search_inputs", "ctrl+r", "search prompt history"),
    ("follow", "end", "end of the line; when empty: end of the transcript"),
    ("editor", "ctrl+g", "open your editor ($VISUAL, $EDITOR)"),
    ("undo_typing", "ctrl+_ super+z", "undo typing"),
    ("quit", "ctrl+d", "when empty: quit; else delete to the right"),
)
_BROWSING: tuple[Row, ...] = (
    ("next_message", "j down", "next message"),
    ("previous_message", "k up", "previous message"),
    ("next_prompt", "J", "next prompt"),
    ("previous_prompt", "K", "previous prompt"),
    ("extend_up", "shift+up", "select upwards"),
    ("extend_down", "shift+down", "select downwards"),
    ("top", "g home", "top of the transcript"),
    ("end", "G end", "end of the transcript"),
    ("fold", "enter space", "fold or unfold"),
    ("raw", "x", "tool call: raw input and output"),
    ("open_image", "o", "open the image, or the page it links to"),
    ("save_image", "s", "save the image"),
    ("copy_message", "y", "copy the message"),
    ("copy_code", "Y", "copy its code block"),
    ("quote", "q", "quote it into the composer"),
    ("context", "c", "see what the agent knew there"),
    ("turn_changes", "d", "changes of this turn"),
    ("undo", "u", "undo the last edit, fork, rename or close"),
    ("tree", "t", "tree of all branches: go to, compare, fork, quote"),
    ("edit", "e", "edit and resend the prompt (the old version is kept)"),
    ("retry", "r", "retry the prompt"),
    ("fork", "f", "fork from here"),
    ("fork_beside", "F", "fork from here in a new tab"),
    ("previous_version", "h left", "previous version of the prompt"),
    ("next_version", "l right", "next version of the prompt"),
    ("branch_point_above", "[", "previous prompt with versions"),
    ("branch_point_below", "]", "next prompt with versions"),
    *((f"tab_{number}", str(number), f"go to tab {number}") for number in range(1, 10)),
)
_QUEUE: tuple[Row, ...] = (
    ("next_queued", "down j", "select the next prompt"),
    ("previous_queued", "up k", "select the one before"),
    ("send_later", "J shift+down", "move it down"),
    ("send_sooner", "K shift+up", "move it up"),
    ("edit_queued", "enter e", "edit it in the composer"),
    ("delete_queued", "d delete", "delete it"),
    ("send_now", "s", "send it now: into the running turn, or after stopping it"),
)
_QUESTION: tuple[Row, ...] = (
    *((f"option_{number}", str(number), f"the agent's option {number}") for number in range(1, 10)),
    ("allow", "y", "allow once (if offered)"),
    ("reject", "n", "reject once (if offered)"),
    ("always", "a", "allow by a rule of yours in this project"),
    ("narrower_rule", "left", "a narrower rule"),
    ("wider_rule", "right", "a wider rule"),
    ("diff", "d", "full diff; a request in full"),
    ("reason", "r", "reject with a reason, sent as your next prompt"),
)
_BRANCH: tuple[Row, ...] = (
    ("branch_do", "enter", "do it"),
    ("branch_agent", "a", "with another agent"),
    ("branch_beside", "s", "in a new tab, or in this one"),
    ("branch_files", "f4", "files too"),
    ("branch_show_files", "f3 d", "show what would become of files"),
    ("branch_finish", "f", "finish what was cut off"),
    ("branch_take_back", "u", "undo what was cut off"),
)
_FORM: tuple[Row, ...] = (
    ("next_field", "tab down", "next field"),
    ("previous_field", "shift+tab up", "previous field"),
    ("take_field", "enter", "next field; on the last one: send; on a web page: open it"),
    ("decline", "d", "decline, outside of text"),
)
_CHOICES: tuple[Row, ...] = (
    ("next_choice", "down", "next value"),
    ("previous_choice", "up", "value before"),
    ("choose", "space", "choose the value, or no longer"),
    *((f"choice_{number}", str(number), f"choose value {number}") for number in range(1, 10)),
)
_TROUBLE: tuple[Row, ...] = (
    ("trouble_retry", "r", "retry"),
    ("trouble_wait", "w", "retry when the limit resets; again: cancel"),
    ("trouble_login", "l", "log in"),
    ("trouble_agent", "a", "another agent"),
    ("trouble_stderr", "e", "error output"),
    ("trouble_takeover", "t", "take over"),
    ("trouble_leave", "tab", "back to the composer"),
)
_FINDING: tuple[Row, ...] = (
    ("find_next", "down", "next place"),
    ("find_previous", "up", "place before"),
)


def _actions() -> Mapping[str, KeyAction]:
    rooms: Mapping[str, tuple[Row, ...]] = {
        "everywhere": _EVERYWHERE,
        "composer": _COMPOSER,
        "anywhere": _ANYWHERE,
        "browsing": _BROWSING,
        "queue": _QUEUE,
        "question": _QUESTION,
        "branch": _BRANCH,
        "form": _FORM,
        "choices": _CHOICES,
        "trouble": _TROUBLE,
        "finding": _FINDING,
        "text": _TEXT,
        **SHEETS,
    }
    return MappingProxyType(
        {
            name: KeyAction(name, place, tuple(keys.split()), does)
            for place, rows in rooms.items()
            for name, keys, does in rows
        }
    )


PLACES: Mapping[str, KeyPlace] = MappingProxyType(
    {each.name: each for each in (*_CHAT_PLACES, *(KeyPlace(*place) for place in SHEET_PLACES))}
)
ACTIONS: Mapping[str, KeyAction] = _actions()
