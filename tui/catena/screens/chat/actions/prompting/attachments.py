"""What goes into a draft beside words: files, and the output of shell commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from typing import TypeAlias

from catena.acts.prompts import attach_file, attach_path
from catena.acts.surface import Refused
from catena.desktop.clipboard import NoClipboardImage
from catena.screens.chat.actions.prompting.prompts import PromptActions
from catena.screens.chat.context import ChatContext
from catena.terminal.programs import ShellCommand, ShellNotStarted
from catena.text.prompt_text import SIGN, ShellText, is_long, output_block
from catena.workspace.outgoing import DraftPlace, OutgoingText, Stage, UnplacedDraft, last_place
from catena.workspace.tab import Tab
from catena_acp.continuity.sending.prompt_blocks import SHOWN_PICTURES
from catena_store.errors import NotAttachable, StoreError
from catena_store.windows.attached_files import MOST_BYTES, MOST_FILES, from_bytes, mime_of

_Attaching: TypeAlias = Callable[[Tab], Awaitable[list[str]]]  # returns the paths that were not attached


class AttachmentActions:
    """Actions on the attachments of the active tab's draft."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context

    def attach_pasted(self, paths: Sequence[str]) -> None:
        """Attach files whose paths were pasted; the path of a file that cannot be attached is restored.

        The next text sent from the draft waits for the files, and takes them along.
        """
        self._begin("\n".join(paths), partial(self._attach_paths, paths))

    def attach_image(self, content: bytes) -> None:
        """Attach an image that the terminal pasted; what is sent next in the draft waits for it."""

        async def read() -> bytes:
            return content

        self._begin("", partial(self._attach_image, read))

    async def paste(self) -> None:
        """Attach the image on the clipboard; what is sent next in the draft waits for it.

        Without one, what was copied here is pasted, if nothing was typed meanwhile.
        """
        composer, drafts = self._context.parts.composer, self._context.drafts
        place, stood = drafts.place, composer.text

        async def read() -> bytes:
            try:
                return await self._context.screen.clipboard.read()
            except NoClipboardImage:
                copied, here = self._context.app.clipboard, drafts.place is last_place(place)
                if copied and here and composer.text == stood:
                    composer.insert(copied)
                raise

        self._begin("", partial(self._attach_image, read))

    def _begin(self, text: str, attach: _Attaching) -> None:
        """Begin to attach to the draft; ``text`` is what is lost where the program ends first."""
        drafts = self._context.drafts
        send = partial(self._attach, attach)
        self._context.tabs.outgoing.add(text, drafts.place, back=None if text else _nothing, send=send)
        drafts.release()

    async def _attach(self, attach: _Attaching, tab: Tab, outgoing: OutgoingText) -> None:
        """Attach to the draft of a tab; what could not be attached is restored there."""
        drafts = self._context.drafts
        left: list[str] = []

        async def step() -> None:
            left.extend(await attach(tab))

        outgoing.stage, texts = Stage.READING, self._context.tabs.outgoing
        try:
            await texts.finish(step(), lambda: texts.remove(outgoing))
        except StoreError:  # they are attached; only that is not kept yet
            texts.remove(outgoing)
            drafts.release()
            raise
        if left:
            drafts.restore(tab, "\n".join(left))
        drafts.release()

    async def _attach_paths(self, paths: Sequence[str], tab: Tab) -> list[str]:
        """Attach files, and return the paths of those that cannot be attached."""
        left: list[str] = []
        for path in paths:
            try:
                if remark := await attach_path(tab, path):
                    self._context.say(remark)
            except (Refused, NotAttachable) as error:
                self._context.say(str(error), wrong=True)
                left.append(path)
        await self._keep(tab)
        return left

    async def _attach_image(self, read: Callable[[], Awaitable[bytes]], tab: Tab) -> list[str]:
        """Attach an image, if it is one: its bytes tell, whatever was said of it."""
        try:
            content = await read()
        except NoClipboardImage as error:
            self._context.say(str(error))
            return []
        mime = mime_of(content, "")
        if mime not in SHOWN_PICTURES:
            self._context.say("There is no PNG, JPEG, GIF or WebP image on the clipboard.", wrong=True)
        elif len(content) > MOST_BYTES:
            self._context.say(
                f"The image is too large (the limit is {MOST_BYTES // 1_048_576} MB).", wrong=True
            )
        elif len(tab.attachments) >= MOST_FILES:
            self._context.say(
                f"At most {MOST_FILES} files per prompt; the image was not attached.", wrong=True
            )
        else:
            if remark := attach_file(tab, from_bytes(content, _image_name(tab, mime))):
                self._context.say(remark)
            await self._keep(tab)
        return []

    async def mentioned_paths(self, tab: Tab) -> Sequence[str]:
        """The files that came with prompts of a tab's conversation, the newest first; none where that is not known."""
        try:
            return await self._context.tabs.mentioned_paths(tab)
        except StoreError:
            return ()

    async def detach_paths(self, paths: Sequence[str]) -> None:
        """Detach the files of these paths."""
        if (tab := self._context.tab) is not None:
            gone = [file for file in tab.attached_files if file.path in paths]
            tab.attachments = tuple(file for file in tab.attachments if file not in gone)
            await self._keep(tab)

    async def remove(self, tab: Tab, index: int) -> None:
        """Detach the file at this place among those that the text does not mention."""
        attached = tab.attached_files
        if index < len(attached):
            tab.attachments = tuple(file for file in tab.attachments if file is not attached[index])
            await self._keep(tab)

    async def _keep(self, tab: Tab) -> None:
        self._context.presenter.refresh()
        await self._context.tabs.keep_attachments(tab)


def _nothing() -> None:
    """Restore nothing: there is no text."""


def _image_name(tab: Tab, mime: str) -> str:
    """A name for an image that has none, of its own in the draft."""
    names = {file.name for file in tab.attachments}
    extension = mime.removeprefix("image/").replace("jpeg", "jpg")
    return next(name for number in count(1) if (name := f"image-{number}.{extension}") not in names)


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
