"""Shell commands of the person's: their output goes into the prompt that is being written."""

from __future__ import annotations

from catena.screens.chat.actions.prompting.prompts import PromptActions
from catena.screens.chat.context import ChatContext
from catena.terminal.shell_command import ShellCommand, ShellNotStarted
from catena.text.long_text import is_long
from catena.text.shell_text import SIGN, ShellText, output_block
from catena.workspace.outgoing import DraftPlace, UnplacedDraft, last_place


class ShellActions:
    """Runs one command at a time, and puts its output where it was typed."""

    def __init__(self, context: ChatContext, prompts: PromptActions) -> None:
        self._context = context
        self._prompts = prompts

    def start(self, shell: ShellText, typed: str) -> None:
        """Run a command that was typed in this draft; ``typed`` is all of its text."""
        context = self._context
        tab = context.drafts.tab
        command = ShellCommand(
            shell.command,
            directory=tab.conversation.record.cwd if tab is not None else context.tabs.directory,
            environment=context.screen.environment,
        )
        context.parts.shell.show(command)
        context.run(self._prompts.remember(f"{SIGN}{shell.command}"))
        context.run(self._run(command, context.drafts.place, shell.before, typed))

    def stop(self) -> bool:
        """Stop the command; False if none runs."""
        command = self._context.parts.shell.running
        if command is not None:
            command.stop()
        return command is not None

    async def _run(self, command: ShellCommand, place: DraftPlace, before: str, typed: str) -> None:
        context = self._context
        try:
            end = await command.run(context.parts.shell.changed)
        except ShellNotStarted as error:
            context.drafts.replace(place, before, typed)
            context.say(str(error), wrong=True)
            return
        finally:
            context.parts.shell.show(None)
            context.parts.hints.drop_untrue()
        block = output_block(command.command, command.output.text, end)
        self._put(place, before, block)
        context.presenter.refresh()
        if is_long(block):
            context.say(context.keys.said("{Send} on the mark shows the output, {Editor} opens it."))

    def _put(self, place: DraftPlace, before: str, block: str) -> None:
        """Put a block behind those that stood in the draft, and before what was written meanwhile."""
        drafts = self._context.drafts
        if is_long(block):
            self._context.tabs.outgoing.pastes.add(block.rstrip("\n"))
        draft = last_place(place)
        if not isinstance(draft, UnplacedDraft) and draft not in self._context.tabs.tabs:
            draft = drafts.place  # its tab was closed
        drafts.write()

        def put() -> None:
            at = len(before) if draft.written.startswith(before) else 0
            draft.write(draft.written[:at] + block + draft.written[at:])

        drafts.rewrite(draft, put)
