"""The base of every sheet: the frame of all screens over the chat, and a screen with a list of rows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

from textual._styles_cache import StylesCache
from textual.app import App, ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget
from textual.widgets import Static

from catena.errors import CommandRefused
from catena.keys.bindings import BindingChain, bindings, keys_of, priority_bindings, with_own_keys
from catena.terminal.compositor import SparingCompositor
from catena.terminal.times import WENT_ON, in_front
from catena.text.safe_text import safe_line
from catena.widgets.column import size_classes
from catena.widgets.row_list import RowList
from catena.widgets.sheet_edges import FilterHead, Foot, SheetKey, SheetWords, Subject, TitleRow
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

if TYPE_CHECKING:
    from textual.types import CSSPathType


T = TypeVar("T")

TOLD = (AgentError, CommandRefused, StoreError, ReadOnly)  # errors that a sheet tells in their own words


@runtime_checkable
class WritingApp(Protocol):
    """An app that waits for the writes of its sheets before it ends."""

    async def finish(self, step: Coroutine[Any, Any, T]) -> T:
        """Run a step to its end, even if the caller is cancelled."""

    def say(self, text: str) -> None:
        """Show a message on the screen in front."""


STYLES = Path(__file__).with_name("dialog.tcss")  # absolute: subclasses stand in other folders


class Dialog(ModalScreen[ScreenResultType]):
    """A sheet that fills the terminal: a head, contents, a line for messages, and the keys at the foot."""

    CSS_PATH: ClassVar[CSSPathType | None] = STYLES
    DEFAULT_CLASSES = "-full"

    class HelpWanted(Message):
        """The person wants to see every key of a sheet."""

        def __init__(self, title: str, keys: Sequence[tuple[str, str]]) -> None:
            super().__init__()
            self.title = title
            self.keys = keys

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(help="help")]

    def __init__(self, words: SheetWords | None = None) -> None:
        super().__init__()
        self._compositor = SparingCompositor()
        self._words = words or SheetWords("")

    def _post_register(self, app: App[Any]) -> None:
        """Get the classes of its size before it is styled."""
        super()._post_register(app)
        self.add_class(*filter(None, size_classes(app)), update=False)

    async def _on_prune(self) -> None:  # called before the widget's own
        """End the sheet's work before its parts go: what goes on between finds some of them, and no others."""
        await asyncio.sleep(0)  # work that was not begun yet is, or Python would warn that nobody awaited it
        self.workers.cancel_node(self)

    def on_unmount(self) -> None:
        """Let go of the rows that were drawn: Textual keeps those of a thousand widgets, each in the key of a cache."""
        StylesCache.get_inner_outer.cache_clear()

    @property
    def _binding_chain(self) -> BindingChain:
        """The bindings of the focused widget and of all around it, with the person's own keys."""
        return with_own_keys(super()._binding_chain, keys_of(self))

    @property
    def subject(self) -> Subject:
        """The subject of the sheet."""
        return self._words.subject

    def compose_head(self, *inside: Widget) -> ComposeResult:
        """The head: a box around a filter, or a row without one."""
        head = FilterHead(*inside, id="head") if inside else TitleRow(id="head")
        yield head
        self._show_words(head)

    def compose_foot(self, *keys: SheetKey) -> ComposeResult:
        """The line for messages, and the keys."""
        said = Static("", id="said", markup=False)
        said.display = False
        yield said
        yield Foot(*keys, id="hint")

    def show_head(
        self,
        title: str | None = None,
        *,
        count: str | None = None,
        subject: Subject | None = None,
    ) -> None:
        """Replace words of the head; None leaves those that it has."""
        before = self._words
        self._words = SheetWords(
            before.title if title is None else title,
            before.count if count is None else count,
            subject or before.subject,
        )
        for head in self.query("#head"):
            self._show_words(head)

    def _show_words(self, head: Widget) -> None:
        if isinstance(head, FilterHead):
            head.show(self._words)
        elif isinstance(head, TitleRow):
            head.show_words(self._words)

    def show_keys(self, *keys: SheetKey) -> None:
        """Replace the keys at the foot."""
        for foot in self.query(Foot):
            foot.show(*keys)

    def say(self, text: str) -> None:
        """Show a message on the line above the keys."""
        for part in self.query("#said").results(Static):  # none is left where work ends after the screen
            if not (text or part.display):  # a key says nothing, and lays nothing out
                continue
            part.update(Content(safe_line(text)))
            part.display = bool(text)

    async def attempt(self, work: Awaitable[None]) -> None:
        """Await work on the store or an agent; an error becomes a message."""
        try:
            await work
        except TOLD as error:
            self.say(str(error))

    async def finish(self, write: Coroutine[Any, Any, T]) -> T:
        """Run what a key asked for to its end, even if the sheet is closed meanwhile, which ends what stands behind it.

        An error is told by the screen that is in front then, and raised.
        """
        app = self.app

        async def told() -> T:
            try:
                return await write
            except TOLD as error:
                if self not in app.screen_stack and isinstance(app, WritingApp):
                    app.say(str(error))
                raise

        return await (app.finish(told()) if isinstance(app, WritingApp) else told())

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close the screen with a result; nothing once it is closed, or below another one, which would be closed."""
        return super().dismiss(result) if in_front(self) else AwaitComplete()

    def still_in_front(self) -> bool:
        """True while no other screen is in front; else say that the person has gone on: an act would interrupt them."""
        if not (front := in_front(self)):
            self.say(WENT_ON)
        return front

    def action_leave(self) -> None:
        """Close the screen without a result."""
        self.dismiss(None)

    @property
    def help_keys(self) -> Iterator[tuple[str, str]]:
        """Every key of the sheet, and what it does."""
        for foot in self.query(Foot):
            yield from ((each.key, each.does) for each in foot.keys)

    def action_help(self) -> None:
        """Ask for a page with every key of this sheet."""
        self.post_message(self.HelpWanted(self._words.title, list(dict(self.help_keys).items())))


_MOVING = (("{row_up row_down}", "choose"), ("{page_up} {page_down}", "a screenful up, down"))


class ListScreen(Dialog[ScreenResultType]):
    """Rows with a cursor, between a head and a line for messages; a subclass has the rows, their keys and acts."""

    AUTO_FOCUS = ""  # keys belong to the rows, unless a field is opened
    HEADING: ClassVar[str] = ""
    EMPTY: ClassVar[str] = ""  # instead of rows, if there are none
    KEYS: ClassVar[tuple[SheetKey, ...]] = ()
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(row_up="move(-1)", row_down="move(1)", page_up="page(-1)", page_down="page(1)")
    ]

    def __init__(self, subject: Subject | None = None, title: str = "") -> None:
        super().__init__(SheetWords(title or self.HEADING, subject=subject or Subject()))

    def compose(self) -> ComposeResult:
        """Head, rows, message, field, keys."""
        yield from self.compose_head(*self.compose_filter())
        yield RowList(empty=keys_of(self).said(self.EMPTY), id="rows")
        yield from self.compose_field()
        yield from self.compose_foot(*self.KEYS)

    def compose_filter(self) -> Iterator[Widget]:
        """The field in the head, if a subclass has one."""
        yield from ()

    def compose_field(self) -> ComposeResult:
        """The field below the rows, if a subclass has one."""
        yield from ()

    @property
    def help_keys(self) -> Iterator[tuple[str, str]]:
        """Every key of the sheet, and what it does."""
        yield from keys_of(self).hints(_MOVING)
        yield from super().help_keys

    @property
    def row_list(self) -> RowList:
        """The rows."""
        return self.query_one(RowList)

    @property
    def chosen_key(self) -> str | None:
        """The key of the row under the cursor."""
        row = self.row_list.chosen
        return row.key if row else None

    def action_move(self, step: int) -> None:
        """Move the cursor by a number of rows."""
        self.row_list.move(step)

    def action_page(self, step: int) -> None:
        """Move the cursor by a screenful."""
        self.action_move(step * self.row_list.page_length)


def list_bindings(keys: Sequence[SheetKey], **more: str) -> list[BindingType]:
    """The bindings of a list: those of its foot, the last of which leaves it, and ``more`` by the names of actions."""
    acts = {each.key[1:-1]: each.action for each in keys[:-1]}
    return [
        *priority_bindings(leave="leave", cancel="leave"),
        *LETTER_KEYS,
        *bindings(close_list="leave", **acts, **more),
    ]


# For lists beside which nothing is typed.
LETTER_KEYS: Sequence[BindingType] = bindings(list_down="move(1)", list_up="move(-1)")
