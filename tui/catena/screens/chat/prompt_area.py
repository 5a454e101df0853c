"""The area a prompt is written in: edit panel, attachments, completions, the composer and its hints."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static

from catena.screens.chat.commands.area_commands import AreaCommands
from catena.screens.chat.commands.table import SLASH_COMMANDS
from catena.screens.chat.panels.attachments import AttachmentBar
from catena.screens.chat.panels.edit import EditPanel
from catena.widgets.completion import CompletionList
from catena.widgets.composer import Composer
from catena.widgets.hint_line import HintLine
from catena.widgets.row_list import RowList

_WONDERED_AT = 0.5  # seconds after Enter without an effect


class PromptArea(Vertical):
    """The composer of one chat with everything that belongs to its text."""

    DEFAULT_CSS = """
    PromptArea { height: auto; }
    """

    class DecisionWanted(Message):
        """Tab was pressed with nothing to complete or attach: the focus goes to a panel that waits for a decision."""

    class HintsStale(Message):
        """The keys have other meanings than before."""

    def __init__(self, commands: AreaCommands, *, directory: str, id: str | None = None) -> None:
        """``directory`` is the base of path completion while there is no tab."""
        super().__init__(id=id)
        self.commands = commands
        self._directory = directory
        self._offered: tuple[Sequence[str], str, str] | None = None  # pasted files, the text without and with
        self.edit = EditPanel(id="edit")
        self.attached = AttachmentBar(id="attached")
        self.completion = CompletionList(SLASH_COMMANDS, id="completions")
        self.composer = Composer(id="composer")
        self.composer.enter = self._enter
        self.composer.before_typing = self._begin_typing
        self.hints = HintLine(id="hints")

    def compose(self) -> ComposeResult:
        """The composer with its sign, what belongs to its text above it, the hints below."""
        yield self.edit
        yield self.attached
        yield self.completion
        with Horizontal(id="writing"):
            yield Static("> ", id="sign", markup=False)
            yield self.composer
        yield self.hints

    @property
    def place(self) -> str:
        """What the composer is used for while it has the keys: completing, editing, editing_busy, composer."""
        if self.completion.is_open:
            return "completing"
        if self.edit.open:
            return "editing_busy" if self.edit.stops_a_turn else "editing"
        return "composer"

    def quote(self, text: str) -> None:
        """Append a quote to the text."""
        self.composer.quote(f"{text}\n\n")
        self.screen.set_focus(self.composer)

    def clear(self) -> None:
        """Clear what is written; it goes to the history of inputs, and undo brings it back, too."""
        self._begin_typing()
        text = self.composer.text
        self.composer.clear()
        if text.strip():
            self.commands.cleared(text)
            self.hints.say("Cleared. ↑ brings your text back.")

    def close_completions(self) -> None:
        """Hide the completions, until something else is typed."""
        self.completion.close()
        self._completions_changed()

    def _completions_changed(self) -> None:
        self.composer.completing = self.completion.is_open
        self.post_message(self.HintsStale())

    # Sending.

    def _enter(self, text: str) -> None:
        """Submit a text; report that it waits, if that takes noticeably long."""
        self._key_pressed()
        if not self.commands.may_submit:
            return
        if refusal := self.commands.refusal(text):
            self.hints.say(refusal, wrong=True)
            return
        self.composer.load_text("")
        self.commands.submit(text)
        if self.commands.text_waits:
            self.set_timer(_WONDERED_AT, self._say_what_waits)

    def _say_what_waits(self) -> None:
        if self.commands.text_waits:
            self.hints.say("Queued behind your previous command.")

    def on_composer_sent_empty(self, event: Composer.SentEmpty) -> None:
        """Let held prompts go: Enter was pressed on nothing."""
        event.stop()
        self._key_pressed()
        self.commands.handle(event)

    # Writing.

    @on(Composer.Walked)
    @on(EditPanel.Left)
    @on(AttachmentBar.Removed)
    def _hand_on(self, event: Composer.Walked | EditPanel.Left | AttachmentBar.Removed) -> None:
        event.stop()
        self.commands.handle(event)

    def on_composer_wanted(self, event: Composer.Wanted) -> None:
        """Run the command of a key of the composer."""
        event.stop()
        if event.command != "tab":
            self.commands.do(event.command)
        elif not self._take_offer():
            self.post_message(self.DecisionWanted())

    def _key_pressed(self) -> None:
        """Replace the shown message by the hints: it was read by the next key."""
        self.hints.hush()
        self.commands.typed()

    def _begin_typing(self) -> None:
        self._key_pressed()
        self.commands.begin_typing()

    def on_text_area_changed(self, event: Composer.Changed) -> None:
        """Keep the draft, and complete a beginning slash."""
        event.stop()
        tab = self.commands.tab
        session = tab.session if tab else None
        directory = tab.conversation.record.cwd if tab else self._directory
        self.completion.offer(self.composer.text, (session.commands or ()) if session else (), directory)
        self._completions_changed()
        self.commands.write()

    # Files.

    def on_composer_pasted(self, event: Composer.Pasted) -> None:
        """Offer to attach a file: a terminal pastes the path of one that is dropped on it."""
        from catena.widgets.completion import pasted_files

        event.stop()
        files = pasted_files(event.pasted)
        self._offered = (files, event.before, event.after) if files else None
        if files:
            what = "the file" if len(files) == 1 else f"{len(files)} files"
            self.hints.say(f"Tab attaches {what} instead of the path.")

    def _take_offer(self) -> bool:
        """Attach the pasted files, if nothing was written since."""
        offered, self._offered = self._offered, None
        if offered is None or self.commands.tab is None or self.composer.text != offered[2]:
            return False
        self.composer.put(offered[1])
        self.commands.attach(offered[0])
        return True

    # Completing.

    def on_composer_completion_moved(self, event: Composer.CompletionMoved) -> None:
        """Choose another completion."""
        event.stop()
        self.completion.move(event.step)

    def on_composer_completion_taken(self, event: Composer.CompletionTaken) -> None:
        """Take a completion; with Enter it is run at once, if it is complete."""
        event.stop()
        self._complete(run=event.run)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Take the completion that was clicked."""
        event.stop()
        self._complete(run=False)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Keep the cursor of the completions to this area."""
        event.stop()

    def _complete(self, *, run: bool) -> None:
        completed = self.completion.completed()
        self.close_completions()
        if completed is not None:
            text, whole = completed
            self.composer.put(text)
            if run and whole:
                self.composer.submit()
