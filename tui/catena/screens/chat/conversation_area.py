"""The transcript and the keys of browsing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message

from catena.keys.bindings import bindings
from catena.screens.chat.panels.start import StartPanel, Welcome
from catena.text.safe_text import safe

if TYPE_CHECKING:  # the first frame needs no transcript
    from datetime import datetime

    from catena.terminal.images import TerminalImages
    from catena.transcript import Transcript
    from catena_acp.spoken.blocks import Reference
    from catena_store.records import Message as Record


# By kind of message.
_BROWSED = {
    "user": "prompt",
    "agent": "answer",
    "thought": "thought",
    "tool": "tool call",
    "plan": "plan",
}
_STILL_FRAME = 0.1  # seconds between two drawings over a slow line


def mode_words(browsed: Record | None) -> tuple[str, str]:
    """The mode that the keys are in while a message is browsed, and which one that is."""
    if browsed is None:
        return "BROWSE", ""
    return "BROWSE", f"{_BROWSED.get(browsed.kind, 'note')} of {browsed.created_at.astimezone():%H:%M}"


class ConversationArea(Vertical):
    """Holds the transcript, or a stand-in for it, and the keys of browsing.

    The stand-in is the welcome of an empty conversation, or the start if there is no conversation yet.

    The keys work only while the transcript has the focus; a letter without a meaning does nothing there.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            next_message="step(1)",
            previous_message="step(-1)",
            next_prompt="step(1, True)",
            previous_prompt="step(-1, True)",
            top="go_top",
            end="go_end",
            fold="fold",
            raw="raw",
            open_image="act('open-image')",
            save_image="act('save-image')",
            copy_message="copy_message",
            copy_code="copy_code",
            quote="quote",
            context="act('context')",
            turn_changes="act('turn-changes')",
            undo="act('ask-undo')",
            tree="act('tree')",
            edit="act('edit')",
            retry="act('retry')",
            fork="act('fork')",
            fork_beside="act('fork-beside')",
            previous_version="act('sibling-before')",
            next_version="act('sibling-after')",
            branch_point_above="act('branch-point-before')",
            branch_point_below="act('branch-point-after')",
            **{f"tab_{number}": f"screen.go_to_tab({number})" for number in range(1, 10)},
        )
    ]
    DEFAULT_CSS = """
    ConversationArea { height: 1fr; & > Transcript { height: 1fr; } }
    """

    class Copied(Message):
        """The person wants this text on the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Quoted(Message):
        """The person wants this text, quoted, in the composer."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Chosen(Message):
        """The prompt in focus was chosen to be edited."""

    class NothingThere(Message):
        """A text about something requested that does not exist."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        *,
        do: Callable[[str], None],
        directory: str,
        column: int,
        half_rows: bool,
        clock: Callable[[], datetime] | None = None,
        images: TerminalImages | None = None,
        id: str | None = None,
    ) -> None:
        """``do`` runs the command of a name, before the next key is handled; ``column`` is the text's width at most."""
        super().__init__(id=id)
        self._do = do
        self._column = column
        self._half_rows = half_rows
        self._clock = clock
        self._images = images
        self._tight = False
        self._most: int | None = None  # rows
        self.welcome = Welcome(id="welcome")
        self.start = StartPanel(directory, column=column, id="start")
        self.start.display = False
        self.transcript: Transcript | None = None

    def compose(self) -> ComposeResult:
        """What stands in the place of the transcript, which comes later."""
        yield self.start
        yield self.welcome

    def make_transcript(self, directory: str, *, still: bool) -> Transcript:
        """Make the transcript; ``still``: it is drawn less often."""
        from catena.transcript import FRAME, Transcript
        from catena_store.ids import utc_now

        transcript = Transcript(
            directory=directory,
            frame=_STILL_FRAME if still else FRAME,
            still=still,
            wall_clock=self._clock or utc_now,
            column=self._column,
            half_rows=self._half_rows,
            images=self._images,
        )
        self.transcript = transcript
        transcript.display = False
        return transcript

    def widen(self, column: int, *, half_rows: bool) -> None:
        """Draw in another width, with or without half rows."""
        self._column, self._half_rows = column, half_rows
        self.start.widen(column)
        if self.transcript is not None:
            self.transcript.widen(column, half_rows=half_rows)

    def unmark_found(self) -> bool:
        """Mark no longer what was looked for; False if nothing is marked."""
        if self.transcript is None or not self.transcript.marks_found:
            return False
        self.transcript.find("")
        return True

    def show_start(self) -> None:
        """Show the start: there is no tab."""
        self.start.display = True
        self.welcome.display = False
        if self.transcript is not None:
            self.transcript.display = False

    def show_tab(self, *, empty: bool) -> None:
        """Show the transcript of a tab, or the welcome of one that is ``empty``."""
        self.start.display = False
        self.welcome.display = empty
        if self.transcript is not None:
            self.transcript.display = not empty

    async def mount_transcript(self) -> bool:
        """Mount the transcript, hidden until it has something to show; False if it is mounted already.

        Only now, since it gets Markdown ready, which takes memory that a program without a tab need not have.
        """
        if self.transcript is None or self.transcript.is_attached:
            return False
        await self.mount(self.transcript)
        self.watch(self.transcript, "content_rows", self._limit, init=False)
        return True

    def fit(self, tight: bool) -> None:
        """Take no more rows than there are, if ``tight``; else all that there is room for."""
        self._tight = tight
        if self.transcript is not None:
            self.transcript.be_followed(tight)
        self._limit()

    def _limit(self) -> None:
        transcript, most = self.transcript, None
        if self._tight and transcript is not None and transcript.display:
            most = max(1, transcript.content_rows)
        if most != self._most:
            self._most = most
            self.styles.max_height = most

    @property
    def browsing(self) -> bool:
        """True while the transcript has the focus."""
        return self.transcript is not None and self.transcript.has_focus

    @property
    def browsed(self) -> str | None:
        """The browsed message; None while nothing is browsed."""
        return self.transcript.current if self.browsing and self.transcript is not None else None

    @property
    def mode_words(self) -> tuple[str, str]:
        """The mode word and what it is about; both are "" while nothing is browsed."""
        if not self.browsing or self.transcript is None:
            return "", ""
        return mode_words(self.transcript.record(self.transcript.current))

    @property
    def choosing(self) -> bool:
        """True while a prompt is to be chosen."""
        return self.browsing and self.transcript is not None and self.transcript.choosing

    def browse(self) -> None:
        """Focus the transcript."""
        if self.transcript is not None and self.transcript.display:
            self.screen.set_focus(self.transcript)
        else:
            self.post_message(self.NothingThere("Nothing to browse yet."))

    def page(self, step: int) -> None:
        """Scroll by a screenful; the focus stays."""
        if self.start.display:
            self.start.page(step)
        elif self.transcript is not None:
            scroll = self.transcript.scroll_page_up if step < 0 else self.transcript.scroll_page_down
            scroll(animate=False)

    def on_descendant_focus(self) -> None:
        """Begin browsing."""
        if self.transcript is not None:
            self.transcript.browse(True)

    def on_descendant_blur(self) -> None:
        """End browsing."""
        if self.transcript is not None:
            self.transcript.browse(False)

    def action_act(self, name: str) -> None:
        """Run the command of this name."""
        self._do(name)

    def action_step(self, step: int, prompts: bool = False) -> None:
        """Go to another message, or prompt."""
        if self.transcript is not None:
            self.transcript.move(step, prompts=prompts or self.transcript.choosing)

    def action_go_top(self) -> None:
        """Go to the beginning."""
        if self.transcript is not None:
            self.transcript.go_to_edge(-1)

    def action_go_end(self) -> None:
        """Go to the end, and follow it."""
        if self.transcript is not None:
            self.transcript.go_to_edge(1)

    def action_fold(self) -> None:
        """Fold or unfold the message; open an image or a link; edit the prompt that is chosen."""
        if self.choosing:
            self.post_message(self.Chosen())
        elif self._other_content:
            self._do("open-image")
        elif self.transcript is not None:
            self.transcript.toggle_fold(self.transcript.current)

    @property
    def _other_content(self) -> Sequence[Reference]:
        """The images and links to the web in the answer that is browsed."""
        from catena_acp.spoken.blocks import Picture
        from catena_acp.spoken.spoken import others_of

        record = self.transcript.record(self.browsed) if self.transcript is not None else None
        others = others_of(record) if record is not None else ()
        return [each for each in others if each.address or isinstance(each, Picture)]

    def action_raw(self) -> None:
        """Show a tool call as it was sent and answered, or its work again."""
        if self.transcript is not None and not self.choosing:
            self.transcript.toggle_raw(self.transcript.current)

    def action_copy_message(self) -> None:
        """Copy the message as it was written; of an image the path of a copy."""
        from catena_acp.spoken.blocks import Picture

        if any(isinstance(each, Picture) for each in self._other_content):
            self._do("copy-image-path")
        elif self.transcript is not None and self.transcript.current is not None:
            self.post_message(self.Copied(self.transcript.text_of(self.transcript.current)))

    def action_copy_code(self) -> None:
        """Copy the message's code blocks."""
        if self.transcript is None or self.transcript.current is None:
            return
        if blocks := self.transcript.code_blocks_of(self.transcript.current):
            self.post_message(self.Copied("\n\n".join(blocks)))
        else:
            self.post_message(self.NothingThere("No code block in this message."))

    def action_quote(self) -> None:
        """Quote the message into the composer."""
        if self.transcript is not None and self.transcript.current is not None:
            lines = safe(self.transcript.text_of(self.transcript.current)).splitlines()
            self.post_message(self.Quoted("\n".join(f"> {line}" for line in lines)))
