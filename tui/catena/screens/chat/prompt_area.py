"""The area a prompt is written in: attachments, completions, and the box of the composer."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from catena.screens.chat.bars.composer_edges import (
    CANCEL,
    CHIP,
    FRAMES_A_SECOND,
    Away,
    ComposerEdges,
    EditLeft,
)
from catena.screens.chat.bars.find import FindBar
from catena.screens.chat.commands.area_commands import AreaCommands
from catena.screens.chat.commands.table import SLASH_COMMANDS
from catena.screens.chat.panels.attachments import AttachmentBar
from catena.widgets.column import Centred
from catena.widgets.completion import CompletionList
from catena.widgets.composer import Composer
from catena.widgets.hint_line import HintLine
from catena.widgets.key_hints import Hint
from catena.widgets.row_list import RowList
from catena.widgets.typing_box import EdgeWords, TypingBox

_WONDERED_AT = 0.5  # seconds after Enter without an effect


class PromptArea(Centred):
    """The composer of one chat with everything that belongs to its text."""

    class EndWanted(Message):
        """The person wants to see the end of the transcript."""

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
        self.attached = AttachmentBar(id="attached")
        self.completion = CompletionList(SLASH_COMMANDS, id="completions")
        self.composer = Composer(id="composer")
        self.composer.enter = self._enter
        self.composer.before_typing = self._begin_typing
        self.composer.empty_row = self._empty_row
        self.box = TypingBox(self.composer, id="box")
        self.find = FindBar(id="find")
        self.edges = ComposerEdges(self.box, narrow=lambda: self.narrow)
        self.hints = HintLine(room=self._room, id="hints")
        self.hints.changed = self._hints_changed
        self._was_empty = True
        self._turn: Timer | None = None

    def compose(self) -> ComposeResult:
        """The row above, what belongs to the composer's text, and the box."""
        yield self.hints
        yield self.attached
        yield self.completion
        yield self.box
        yield self.find

    @property
    def narrow(self) -> bool:
        """True where the screen has no room for more than what matters most."""
        return self.screen.has_class("-narrow")

    @property
    def short(self) -> bool:
        """True where the composer is one row, without a box."""
        return self.screen.has_class("-short")

    def on_resize(self) -> None:
        """Place message and hints anew: there is another room for them."""
        self.hints.place()
        self.post_message(self.HintsStale())
        self.edges.draw()

    def on_find_bar_toggled(self, event: FindBar.Toggled) -> None:
        """Let the box of the find bar take the place of the composer's."""
        event.stop()
        self.set_class(self.find.is_open, "-finding")

    # The empty box.

    def show_away(self, away: Away | None, *, turning: bool) -> None:
        """Show how far the end of the transcript is; the mark of work turns where ``turning``."""
        self.edges.show_away(away)
        turns = turning and away is not None and self.edges.status.working
        if turns and self._turn is None:
            self._turn = self.set_interval(1 / FRAMES_A_SECOND, self.edges.turn)
        elif not turns and self._turn is not None:
            self._turn.stop()
            self._turn = None

    def _room(self) -> int:
        return 0 if self.composer.text else self.composer.size.width

    def _empty_row(self, width: int) -> Content:
        return self.hints.inside(width)

    def _hints_changed(self) -> None:
        if not self.composer.text:
            self.composer.refresh()

    def hint(self, right: Sequence[Hint], left: Sequence[Hint] = (), *, of_composer: bool) -> None:
        """Set the hints; beside a text those of the composer go, and all others stand on the edge."""
        if of_composer and self.short:
            self.hints.hint(())
        else:
            self.hints.hint(right[-1:] if of_composer and self.narrow else right, () if self.short else left)
        beside_text = bool(self.composer.text) and not of_composer
        self.edges.show_keys((*left, *right) if beside_text else ())

    @property
    def place(self) -> str:
        """What the composer is used for while it has the keys: completing, editing, composer."""
        if self.completion.is_open:
            return "completing"
        if self.edges.edit is not None:
            return "editing"
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
    @on(AttachmentBar.Removed)
    def _hand_on(self, event: Composer.Walked | AttachmentBar.Removed) -> None:
        event.stop()
        self.commands.handle(event)

    def on_edge_words_clicked(self, event: EdgeWords.Clicked) -> None:
        """Leave the edit, or go to the end of the transcript."""
        event.stop()
        if event.clicked == CANCEL:
            self.commands.handle(EditLeft())
        elif event.clicked == CHIP:
            self.post_message(self.EndWanted())

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
        empty = not self.composer.text
        if empty is not self._was_empty:
            self._was_empty = empty
            if self.hints.said:
                self.hints.place()
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
