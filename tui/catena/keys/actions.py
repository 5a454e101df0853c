"""The one table of actions that a key does: bindings, hints, help, settings and documents are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

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
    ("accept", "enter", "accept a one-line field or a list's choice"),
    ("text_up", "up", "a line up"),
    ("text_down", "down", "a line down"),
    ("text_left", "left ctrl+b", "a character to the left"),
    ("text_right", "right ctrl+f", "a character to the right"),
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
    ("redo_typing", "ctrl+y super+y", "redo typing; else put back the word or line that was deleted last"),
)
_ANYWHERE: tuple[Row, ...] = (
    ("stop", "escape", "stop the turn and hold the queue; close what is open"),
    ("copy_clear_or_stop", "ctrl+c super+c", "copy the selection; else clear the draft; else stop"),
    ("next_mode", "shift+tab", "the agent's next mode: plan, ask, accept edits …"),
    ("browse", "f2", "browse the transcript; again: back"),
    ("history", "ctrl+o", "history: find and open a conversation"),
    ("new_tab", "ctrl+t", "new tab"),
    ("previous_tab", "ctrl+pageup", "previous tab"),
    ("next_tab", "ctrl+pagedown", "next tab"),
    ("other_pane", "f6", "the other of two panes"),
    ("next_question", "f8", "next tab whose agent asks"),
    ("queue", "ctrl+n", "queued prompts; again: back"),
    ("files_too", "f4", "restore files too"),
    ("show_files", "f3", "show what would happen to files"),
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
    ("branch_files", "f4", "restore files too"),
    ("branch_show_files", "f3 d", "show what would happen to files"),
    ("branch_finish", "f", "finish the interrupted restore"),
    ("branch_take_back", "u", "undo the interrupted restore"),
)
_FORM: tuple[Row, ...] = (
    ("next_field", "tab down", "next field"),
    ("previous_field", "shift+tab up", "previous field"),
    ("take_field", "enter", "next field; on the last one: send; on a web page: open it"),
    ("decline", "d", "decline, outside of text"),
)
_CHOICES: tuple[Row, ...] = (
    ("next_choice", "down", "next value"),
    ("previous_choice", "up", "previous value"),
    ("choose", "space", "select or clear the value"),
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
    ("find_next", "down", "next match"),
    ("find_previous", "up", "previous match"),
)

_READING = ("reading", "sheet", "everywhere")
_LISTING = ("listing", "sheet", "everywhere")
_FILTERING = ("sheet", "text", "everywhere")

_SHEET_PLACES: tuple[tuple[str, str, tuple[str, ...], bool], ...] = (  # name, title, within, types
    ("sheet", "In every sheet", ("everywhere",), True),
    ("reading", "In a page of text", ("sheet", "everywhere"), False),
    ("listing", "In a list without a filter", ("sheet", "everywhere"), False),
    ("palette", "In the list of commands", _FILTERING, True),
    ("history", "In the history", _FILTERING, True),
    ("acts", "In the menu of the history", ("history", *_FILTERING), False),
    ("tree", "In the tree", _LISTING, False),
    ("checkpoints", "In the checkpoints", _LISTING, False),
    ("sessions", "In the list of sessions", _LISTING, False),
    ("permissions", "In the permission rules", _LISTING, False),
    ("background", "In the background list", _LISTING, False),
    ("servers", "In the MCP servers", _LISTING, False),
    ("templates", "In the prompt templates", _LISTING, False),
    ("settings", "In the settings", _LISTING, False),
    ("changes", "In the changes", ("sheet", "everywhere"), False),
    ("blame", "In the blame of a file", ("sheet", "everywhere"), False),
    ("page", "In help, diffs and other pages", _READING, False),
    ("context", "In the context of a turn", _READING, False),
    ("comparison", "In the comparison of branches", _READING, False),
    ("aside", "In a side question", ("sheet", "everywhere"), False),
)
_SHEETS: Mapping[str, tuple[Row, ...]] = {
    "sheet": (
        ("leave", "escape", "close, or back"),
        ("cancel", "ctrl+c", "close; a side question: stop the answer first"),
        ("row_up", "up", "a row up"),
        ("row_down", "down", "a row down"),
        ("page_up", "pageup", "a screenful up"),
        ("page_down", "pagedown", "a screenful down"),
    ),
    "reading": (
        ("line_up", "k", "a line up"),
        ("line_down", "j", "a line down"),
        ("next_page", "space", "a screenful down"),
        ("close_page", "q", "close"),
    ),
    "listing": (
        ("list_up", "k", "a row up"),
        ("list_down", "j", "a row down"),
        ("close_list", "q", "close"),
    ),
    "palette": (("palette_complete", "tab", "put the command into the composer"),),
    "history": (
        ("wider_scope", "tab", "wider scope"),
        ("narrower_scope", "shift+tab", "narrower scope"),
        ("other_sessions", "ctrl+o", "this directory, with the sessions of other tools"),
        ("history_acts", "f9", "everything that can be done with it"),
        ("history_preview", "f3", "show the preview"),
        ("history_mark", "insert ctrl+space", "mark"),
        ("mark_up", "shift+up", "mark, and go up"),
        ("mark_down", "shift+down", "mark, and go down"),
        ("keep_copies", "f5", "keep copies of other tools' sessions, when asked"),
        ("no_copies", "f12", "keep no copies, when asked"),
        ("history_rename", "", "rename, without the menu"),
        ("history_delete", "", "delete, without the menu"),
        ("history_archive", "", "archive, without the menu; restore from the archive"),
        ("history_undo", "ctrl+_", "undo"),
    ),
    "acts": (
        ("act_open", "o", "open"),
        ("act_beside", "s", "open side by side"),
        ("act_import", "i", "import a copy of another tool's session"),
        ("act_read", "v", "read without opening"),
        ("act_fork", "f", "fork"),
        ("act_edit", "e", "edit the prompt"),
        ("act_quote", "q", "quote into the composer"),
        ("act_tree", "t", "show in the tree"),
        ("act_export", "x", "export as Markdown"),
        ("act_rename", "r", "rename"),
        ("act_pin", "p", "pin, or unpin"),
        ("act_archive", "a", "archive, or restore"),
        ("act_delete", "d", "delete"),
        ("act_mark", "m", "mark"),
        ("act_undo", "u", "undo"),
    ),
    "comparison": (
        ("answer_before", "left", "previous answer, if not all are shown"),
        ("answer_after", "right", "next answer, if not all are shown"),
        *(
            (f"keep_{each}", each, f"keep {each.upper()}, and close the tabs of the others")
            for each in "abcdefghi"
        ),
    ),
    "tree": (
        ("tree_go", "enter", "go there"),
        ("tree_fold", "space", "fold or unfold"),
        ("tree_top", "g home", "first prompt"),
        ("tree_end", "G end", "last prompt"),
        ("tree_branch_above", "[", "previous branch point"),
        ("tree_branch_below", "]", "next branch point"),
        ("tree_branch_end", "e", "end of its branch"),
        ("tree_search", "/", "search"),
        ("tree_mark", "m", "mark"),
        ("tree_compare", "d", "compare branches"),
        ("tree_fork", "f", "fork from there"),
        ("tree_quote", "q", "quote it into the composer"),
        ("tree_files", "f4", "restore files too, when you go there"),
        ("tree_show_files", "f3", "show what would happen to files"),
    ),
    "checkpoints": (
        ("checkpoint_rewind", "enter", "go back to it"),
        ("checkpoint_fork", "f", "fork there"),
        ("checkpoint_fork_beside", "F", "fork there in a new tab"),
        ("checkpoint_name", "r", "name it"),
        ("checkpoint_remove", "d", "remove it"),
        ("checkpoint_files", "f4", "restore files too"),
        ("checkpoint_show_files", "f3", "show what would happen to files"),
    ),
    "sessions": (
        ("session_details", "enter", "details"),
        ("session_check", "p", "check if it loads"),
        ("session_check_all", "P", "check all"),
        ("session_continue", "r", "continue from it"),
        ("session_copy", "y", "copy its session id"),
        ("session_all", "a", "show internal sessions, too"),
    ),
    "permissions": (
        ("rule_remove", "d", "remove the rule"),
        ("rule_scope", "s", "this project or this conversation"),
        ("rule_undo", "u", "undo the last change"),
    ),
    "background": (
        ("background_go", "enter", "go to its call"),
        ("background_stop", "s", "how to stop it"),
    ),
    "servers": (
        ("server_details", "enter", "details"),
        ("servers_allow", "a", "see in full what the project's servers are, and allow them"),
        ("servers_confirm", "y", "allow what is shown in full"),
        ("servers_refuse", "x", "do not use the project's servers"),
    ),
    "templates": (
        ("template_read", "enter", "read it"),
        ("template_edit", "e", "edit it; of a shipped one, a copy of your own"),
        ("template_allow", "a", "allow the project's to be sent unread"),
        ("template_refuse", "x", "do not use the project's"),
    ),
    "settings": (
        ("setting_change", "enter", "change it"),
        ("setting_reset", "d backspace", "back to the default"),
        ("setting_file", "e", "open it in the file, in your editor"),
        ("settings_filter", "/", "filter"),
    ),
    "changes": (
        ("next_change", "j", "next file; in its hunks: next hunk"),
        ("previous_change", "k", "previous file; in its hunks: previous hunk"),
        ("next_hunk", "n", "next hunk, from file to file"),
        ("previous_hunk", "p", "previous hunk"),
        ("next_file", "]", "next file"),
        ("previous_file", "[", "previous file"),
        ("changes_top", "g home", "top"),
        ("changes_end", "G end", "end"),
        ("changes_enter", "enter right l", "to the hunks; fold or unfold"),
        ("changes_files", "left h", "back to the files"),
        ("changes_seen", "space", "mark as seen, and go on"),
        ("changes_quote", "q", "quote it into the composer"),
        ("changes_undo", "u", "quote as “Undo this change”"),
        ("changes_rewind", "R", "choose a checkpoint, whose files /rewind restores"),
        ("side_by_side", "s", "both versions side by side"),
        ("copy_hunk", "y", "copy the hunk"),
        ("copy_patch", "Y", "copy everything as a patch"),
        ("changes_restore", "x", "restore the file as it was before these changes"),
        ("changes_blame", "b", "who wrote the lines"),
        ("changes_editor", "o", "open the file in your editor"),
        ("changes_read", "r", "read the changes again"),
        ("changes_filter", "/", "filter"),
        ("changes_scope", "tab", "scope"),
        ("changes_find", "ctrl+f", "find in all changes"),
    ),
    "blame": (
        ("blame_up", "k", "a line up"),
        ("blame_down", "j", "a line down"),
        ("next_turn", "n", "next lines of a turn"),
        ("previous_turn", "N", "previous lines of a turn"),
        ("blame_top", "g home", "first line"),
        ("blame_end", "G end", "last line"),
        ("blame_open", "enter", "open the conversation at the prompt"),
        ("blame_quote", "q", "quote the lines into the composer"),
        ("blame_read", "r", "read the file again"),
    ),
    "page": (
        ("dismiss", "enter d", "close"),
        ("help_all", "a", "in the help: all keys and commands"),
        ("details_copy", "y", "in the details of a session: copy its id"),
    ),
    "context": (
        ("turn_before", "left h", "previous turn"),
        ("turn_after", "right l", "next turn"),
        ("context_fold", "enter space", "fold or unfold the text that was sent"),
        ("context_copy", "y", "copy the text that was sent"),
        ("context_close", "c", "close"),
    ),
    "aside": (
        ("aside_ask", "enter a", "ask more"),
        ("aside_copy", "y", "copy the answer"),
        ("aside_insert", "i", "put it into the composer"),
        ("aside_save", "s", "save it to a new file"),
        ("aside_begin", "n", "new conversation with it as draft"),
        ("aside_edit", "e", "edit a question"),
        ("aside_down", "j down", "scroll down"),
        ("aside_up", "k up", "scroll up"),
    ),
}


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
        **_SHEETS,
    }
    return MappingProxyType(
        {
            name: KeyAction(name, place, tuple(keys.split()), does)
            for place, rows in rooms.items()
            for name, keys, does in rows
        }
    )


PLACES: Mapping[str, KeyPlace] = MappingProxyType(
    {each.name: each for each in (*_CHAT_PLACES, *(KeyPlace(*place) for place in _SHEET_PLACES))}
)
ACTIONS: Mapping[str, KeyAction] = _actions()
