"""The area a prompt is written in: attachments, completions, and the box of the composer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from catena.keys.keymap import DEFAULT_KEYS, KeyMap
from catena.screens.chat.bars.composer_edges import (
    CANCEL,
    CHIP,
    FRAMES_A_SECOND,
    Away,
    ComposerEdges,
    EditLeft,
)
from catena.screens.chat.bars.find import FindBar
from catena.screens.chat.commands.chat import Chat
from catena.screens.chat.panels.attachments import AttachmentBar, ShellPanel
from catena.screens.chat.prompt.completions import Completions, MentionCompletion
from catena.screens.chat.prompt.name_reading import TemplateReading
from catena.terminal.times import call_after
from catena.text.prompt_text import ShellText, is_long, may_be_shell_text, shell_text
from catena.widgets.column import Centred
from catena.widgets.commands import split_slash
from catena.widgets.composer import Composer, Pasted
from catena.widgets.hint_line import Hint, HintLine
from catena.widgets.typing_box import EdgeWords, TypingBox

if TYPE_CHECKING:
    from catena.mentions.index import FileIndex
    from catena.screens.chat.prompt.dropped_files import DroppedFiles
    from catena.screens.chat.prompt.name_reading import NameReading
    from catena.widgets.row_list import RowList
    from catena_acp.port.session_events import AgentCommand

_WONDERED_AT = 0.5  # seconds after Enter without an effect
_PATIENCE = 0.8  # seconds that a key waits for the agent's commands; the gate waits a second


class PromptArea(Centred):
    """The composer of one chat with everything that belongs to its text."""

    class EndWanted(Message):
        """The person wants to see the end of the transcript."""

    class DecisionWanted(Message):
        """Tab was pressed with nothing to complete or attach: the focus goes to a panel that waits for a decision."""

    class HintsStale(Message):
        """The keys have other meanings than before."""

    def __init__(
        self,
        chat: Chat,
        *,
        directories: Sequence[str],
        shell: bool = True,
        keys: KeyMap = DEFAULT_KEYS,
        vim: bool = False,
        id: str | None = None,
    ) -> None:
        """``directories`` are those of path completion while there is no tab, the working directory first.

        ``shell`` allows shell commands.
        """
        super().__init__(id=id)
        self.chat = chat
        self._directories = tuple(directories)
        self._shell_allowed = shell
        self._keys = keys
        self._offered: tuple[Sequence[str], str, str] | None = None  # pasted files, the text without and with
        # Attached at once, and the text with their paths.
        self._taken: tuple[Sequence[str], str] | None = None
        self._closed_on: str | None = None  # the text beside which the completions were closed
        self.templates = TemplateReading(chat.templates, self._commands_read)
        self._names: NameReading | None = None  # until something is typed
        self._announced: Sequence[AgentCommand] | None = None  # the agent's commands
        self._known = asyncio.Event()  # they are, or nobody waits for them any more
        self._filled_in: str | None = None  # the text of a template
        self.attached = AttachmentBar(id="attached")
        self.shell = ShellPanel(id="shell")
        self.completion = Completions(keys, mount=lambda made: self.mount(made, before=self.box))
        self.composer = Composer(id="composer", vim=vim)
        self.composer.mode_changed = self._mode_changed
        self.composer.enter = self._enter
        self.composer.before_typing = self._begin_typing
        self.composer.empty_row = self._empty_row
        self.composer.pasted = self._pasted
        self.composer.undone = self._undone
        self.mentions = MentionCompletion(
            self.composer,
            self.completion,
            roots=lambda: self._roots,
            look=self._look_for_files,
            changed=self._completions_changed,
        )
        self.box = TypingBox(self.composer, id="box")
        self.find = FindBar(id="find")
        self.edges = ComposerEdges(self.box, narrow=lambda: self.narrow, keys=lambda: self._keys)
        self.edges.modes_changed = lambda: self.post_message(self.HintsStale())
        self.hints = HintLine(room=self._room, tab=lambda: self.chat.tab, id="hints")
        self.hints.changed = self._hints_changed
        self._was_empty = True
        self._was_inserting: bool | None = None
        self._turn: Timer | None = None

    def compose(self) -> ComposeResult:
        """The row above, what belongs to the composer's text, and the box."""
        yield self.hints
        yield self.attached
        yield self.shell
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
        self.set_class(self.find.is_open, "-finding")

    def on_mount(self) -> None:
        """Say which of vi's modes the composer begins in."""
        self._mode_changed(self.composer.vim_mode)

    def _mode_changed(self, word: str) -> None:
        self.edges.show_mode(word)
        if self._was_inserting != self.composer.inserting:
            self._was_inserting = self.composer.inserting
            self.post_message(self.HintsStale())

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
            right = right[-1:] if of_composer and self.narrow else right
            self.hints.hint(right, () if self.short else left, first=not of_composer)
        beside_text = bool(self.composer.text) and not of_composer
        self.edges.show_keys((*left, *right) if beside_text else ())

    @property
    def place(self) -> str:
        """The use of the composer while it has the keys, by the name that its hints have."""
        if self.completion.is_open:
            if self.mentions.active:
                return "mentioning"
            return "completing" if self.completion.is_meant else "guessing"
        if self.shell_command is not None:
            return "shell"
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
            self.chat.cleared(text)
            self._say("Cleared. {Text_up} brings your text back.")

    def close_completions(self) -> None:
        """Hide the completions, until something else is typed."""
        self._closed_on = self.composer.text
        self.completion.close()
        self.mentions.end()
        self._completions_changed()

    def _completions_changed(self) -> None:
        expected = self.templates.expected and self._may_name_template(self.composer.text)
        self.composer.completing = self.completion.is_open or self.mentions.looking or expected
        self.hints.drop_untrue()
        self.post_message(self.HintsStale())

    # Sending.

    def _pressed_unaware(self) -> bool:
        """True, and said, if Enter was pressed before a person could know of a text that came in by itself."""
        if self.composer.pressed_unaware:
            self._say("This text has just come in. Press {Send} again to send it.")
        return self.composer.pressed_unaware

    def _enter(self, text: str) -> None:
        """Submit a text; report that it waits, if that takes noticeably long."""
        self._key_pressed()
        if not self.chat.may_submit:
            return
        if self._pressed_unaware():
            return
        if (shell := self.shell_command) is not None:
            self._run_shell(shell, text)
            return
        if self._fill_in(text):
            return
        if refusal := self.chat.refusal(text, [each.name for each in self.templates.known]):
            self.hints.say(refusal, wrong=True)
            return
        self.composer.load_text("")
        self.chat.submit(text)
        if self.chat.text_waits:
            call_after(self, _WONDERED_AT, self._say_what_waits)

    @property
    def shell_command(self) -> ShellText | None:
        """The shell command that is written; None for a prompt, and where commands are not possible."""
        tab = self.chat.tab
        if not self._shell_allowed or not may_be_shell_text(self.composer.first_line):
            return None
        return None if tab is not None and tab.conversation.read_only else shell_text(self.composer.text)

    def use(self, *, shell: bool, keys: KeyMap, vim: bool) -> None:
        """Use changed settings: whether `!` begins a shell command, the keys, and whether they are vi's here."""
        self._shell_allowed = shell
        if keys != self._keys:
            self._keys = keys
            self.completion.use(keys)
            self.post_message(self.HintsStale())
        self.composer.use_vim(vim)

    def _run_shell(self, shell: ShellText, typed: str) -> None:
        """Run what is written, if the person wants that: a paste alone runs nothing."""
        if not shell.command:
            return
        if not self.composer.pressed_apart:
            self._say("Press {Send} again to run this command.")
        elif (running := self.shell.running) is not None:
            self._say(
                "Another command is running; {Stop} stops it.",
                wrong=True,
                holds=lambda: self.shell.running is running,
            )
        elif self.chat.run_shell(shell, typed):
            self.composer.load_text(shell.before)
            self.composer.move_cursor(self.composer.document.end)
        else:
            self._say("Catena is still opening your conversations. Press {Send} again in a moment.")

    def _fill_in(self, text: str) -> bool:
        """Replace the name of a template by its text, to be read, changed and sent; False for any other text.

        The next Enter sends it, but not one that came with the first: nobody has read the text by then. A side question
        is asked at once.
        """
        if self.composer.text == self._filled_in:
            return False
        slash = split_slash(text)
        if slash is None or not self._may_name_template(text):
            return False
        from catena.settings.templates import named_template

        template = named_template(self.templates.known, slash[0])
        if template is None:
            return False
        if template.aside:
            self.composer.load_text("")
            self.chat.submit(f"/templates use {text[1:]}")
            return True
        self.composer.put(template.with_arguments(slash[1]))
        self._filled_in = self.composer.text
        self.composer.came_in()
        whose = "This project's prompt" if template.of_project else "Your prompt"
        asks = template.of_project and template.allowed is None
        further = " /templates allows it for catena run." if asks else ""
        self.hints.say(f"{whose} {template.name}. {self._keys.said('{Send} sends it.')}{further}")
        return True

    def _may_name_template(self, text: str) -> bool:
        """True for a text that begins with a slash and is no command of ours."""
        from catena.screens.chat.commands.table import slash_command

        slash = split_slash(text)
        return slash is not None and slash_command(slash[0]) is None

    def commands_announced(self, commands: Sequence[AgentCommand] | None) -> None:
        """Offer other commands of the agent than before; None while it has not announced any."""
        if commands is self._announced:
            return
        self._announced = commands
        if commands is None:
            self._known.clear()
        else:
            self._known.set()
        self._commands_read()

    def _commands_read(self) -> None:
        """Offer what can be named now, unless the person has closed the list meanwhile."""
        if self.composer.text.startswith("/") and self.composer.text != self._closed_on:
            self._offer_commands()
        self._completions_changed()

    def _offer_commands(self) -> None:
        text, agents = self.composer.text, self._announced or ()
        self.completion.offer(text, agents, self._roots[0], self.templates.known, self._known_names)

    def _known_names(self, kind: str) -> Sequence[str]:
        """The names of a kind that are known by now; the others are read."""
        if self._names is None:
            from catena.screens.chat.prompt.name_reading import NameReading

            self._names = NameReading(self.chat.names, self._commands_read)
        return self._names.known(kind, self.chat.tab if self.chat.opened is not None else None)

    async def _all_known(self) -> bool:
        """Wait until everything is known that the text could become; False, and said, if that takes long.

        For an agent that has not announced its commands nobody waits long, and only once.
        """
        if not await self.mentions.found():
            self._say_slow(
                "Listing your files is slow. Press {Send} again to take the file that is shown.",
                lambda: self.mentions.late,
            )
            return False
        if not self._may_name_template(self.composer.text):
            return True
        if self.templates.expected and not await self.templates.come():
            self._say_slow(
                "Reading your templates is slow. Press {Send} again to send this as it stands.",
                lambda: self.templates.late,
            )
            return False
        named = any(
            f"/{each.name}" == self.composer.text for each in self.templates.known if not each.refused
        )
        if self.completion.is_open and not named and (self.chat.opened is None or self.chat.tab is not None):
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._known.wait()
            except TimeoutError:
                self._known.set()
                self._say_slow(
                    "The agent has not listed its commands yet. Press {Send} again to take the row shown.",
                    lambda: self._announced is None,
                )
                return False
        return True

    def _say_slow(self, words: str, holds: Callable[[], bool]) -> None:
        self._say(words, holds=holds)
        self._completions_changed()

    def _say_what_waits(self) -> None:
        if self.chat.text_waits:
            self._say("Queued behind your previous command.", holds=lambda: self.chat.text_waits)

    def _say(self, words: str, *, wrong: bool = False, holds: Callable[[], bool] = lambda: True) -> None:
        """Say something with the keys in effect."""
        self.hints.say(self._keys.said(words), wrong=wrong, holds=holds)

    def on_composer_sent_empty(self, event: Composer.SentEmpty) -> None:
        """Let held prompts go: Enter was pressed on nothing."""
        event.stop()
        self._key_pressed()
        self.chat.handle(event)

    # Writing.

    @on(Composer.Walked)
    @on(AttachmentBar.Removed)
    def _hand_on(self, event: Composer.Walked | AttachmentBar.Removed) -> None:
        event.stop()
        self.chat.handle(event)

    def on_edge_words_clicked(self, event: EdgeWords.Clicked) -> None:
        """Leave the edit, or go to the end of the transcript."""
        event.stop()
        if event.clicked == CANCEL:
            self.chat.handle(EditLeft())
        elif event.clicked == CHIP:
            self.post_message(self.EndWanted())

    def on_composer_wanted(self, event: Composer.Wanted) -> None:
        """Run the command of a key of the composer."""
        event.stop()
        if event.command != "tab":
            self.chat.do(event.command)
        elif not self._take_offer():
            self.post_message(self.DecisionWanted())

    def _key_pressed(self) -> None:
        """Replace the shown message by the hints: it was read by the next key."""
        self.hints.hush()
        self.chat.typed()

    def _begin_typing(self) -> None:
        self._key_pressed()
        self.chat.begin_typing()

    def on_text_area_changed(self, event: Composer.Changed) -> None:
        """Keep the draft, and complete a beginning slash or a mention."""
        event.stop()
        self._closed_on = None
        self.templates.typed(self.composer.text, self._roots[0])
        self._offer_commands()
        in_shell = self.shell_command is not None
        self.composer.leaves_mode = in_shell
        self.edges.show_shell(in_shell)
        self._show_line()
        if in_shell:
            self.close_completions()
        elif not self.completion.is_open:
            self.mentions.offer()
        self._completions_changed()
        empty = not self.composer.text
        if empty is not self._was_empty:
            self._was_empty = empty
            self.edges.show_written(not empty)
            if self.hints.said:
                self.hints.place()
        self.chat.write()

    # Files.

    def _pasted(self, paste: Pasted) -> None:
        """Take the paths of files that were dropped on the terminal, or offer to attach them."""
        from catena.screens.chat.prompt.dropped_files import DroppedFiles

        self._taken = self._offered = None
        dropped = DroppedFiles.of(paste.text, self._roots)
        if dropped is None:
            if is_long(paste.text) and not self.composer.leaves_mode:
                self._say("It will be sent in full. {Send} on the mark shows it, {Editor} opens it.")
            elif paste.set_apart:
                self._say("Pasted as text: without the space before it, it is a command.")
            return
        is_command = paste.before.startswith("/") or self.shell_command is not None
        if dropped.taken and not is_command and (self.chat.tab is not None or not dropped.attached):
            self._take_dropped(dropped, paste)
        elif dropped.files:
            self._offered = (dropped.files, paste.before, paste.after)
            what = "the file" if len(dropped.files) == 1 else f"{len(dropped.files)} files"
            self._say(f"{{Complete}} attaches {what} instead of the path.")

    def _take_dropped(self, dropped: DroppedFiles, paste: Pasted) -> None:
        """Replace the paths by mentions and attachments; undoing that brings them back."""
        row, column = paste.start
        joint = column > 0 and not self.composer.document.get_line(row)[column - 1].isspace()
        mentions = "".join(dropped.mentions)
        self.composer.replace(f" {mentions}" if joint and mentions else mentions, paste.start, paste.end)
        self._taken = (dropped.attached, paste.after)
        if dropped.attached:
            self.chat.actions.attachments.attach_pasted(dropped.attached)
        undoes = self._keys.said("{Undo_typing} makes a path of it again.")
        self.hints.say(f"{dropped.words} {undoes}")

    def _undone(self) -> None:
        """Detach what came with a text that is a path again."""
        if self._taken is not None and self.composer.text == self._taken[1]:
            if (actions := self.chat.opened) is not None:
                actions.context.run(actions.attachments.detach_paths(self._taken[0]))
            self._taken = None

    def _take_offer(self) -> bool:
        """Attach the pasted files, if nothing was written since."""
        offered, self._offered = self._offered, None
        if offered is None or self.chat.tab is None or self.composer.text != offered[2]:
            return False
        self.composer.put(offered[1])
        self.chat.actions.attachments.attach_pasted(offered[0])
        return True

    # Completing.

    def on_composer_completion_moved(self, event: Composer.CompletionMoved) -> None:
        """Choose another completion."""
        event.stop()
        self.completion.move(event.step)
        self.post_message(self.HintsStale())

    async def on_composer_completion_taken(self, event: Composer.CompletionTaken) -> None:
        """Take a completion; with Enter it is run at once, if it is complete and was meant."""
        event.stop()
        if not await self._all_known() or (event.run and self._pressed_unaware()):
            return
        if self.completion.is_open:
            if not event.run:
                self.completion.move_on()
            self._complete(run=event.run)
        elif event.run and not self.composer.blank:
            self.close_completions()
            self.composer.submit()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Take the completion that was clicked."""
        event.stop()
        self._complete(run=False)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Keep the cursor of the completions to this area."""
        event.stop()

    def _complete(self, *, run: bool) -> None:
        if (path := self.completion.chosen_file) is not None:
            if self.mentions.take(path) and self.chat.tab is not None:
                self.chat.tab.taken_paths.add(path)
            return
        completed, meant = self.completion.completed(), self.completion.is_meant
        self.close_completions()
        if completed is not None:
            text, whole = completed
            # Its arguments are the person's to leave out.
            whole = whole or text.rstrip() == self.composer.text
            self.composer.put(text)
            if run and not meant:
                self.composer.came_in()  # the list says what the next Enter does
            elif run and whole:
                self.composer.submit()

    # Mentioning files.

    @property
    def _roots(self) -> tuple[str, ...]:
        tab = self.chat.tab
        return (
            (tab.conversation.record.cwd, *tab.conversation.directories)
            if tab is not None
            else self._directories
        )

    def _look_for_files(self, index: FileIndex) -> None:
        async def look() -> None:
            tab = self.chat.tab
            await index.refresh(await self.chat.actions.attachments.mentioned_paths(tab) if tab else ())

        self.run_worker(look(), group="files")

    def on_text_area_selection_changed(self, event: Composer.SelectionChanged) -> None:
        """Close the offered files when the cursor leaves their mention, and tell its line."""
        event.stop()
        self.mentions.cursor_moved()
        self._show_line()

    def _show_line(self) -> None:
        self.edges.show_line(self.composer.cursor_location[0] + 1, self.composer.document.line_count)

    def on_unmount(self) -> None:
        """End what looks for files."""
        self.mentions.forget()
        self.templates.forget()
        if self._names is not None:
            self._names.forget()
