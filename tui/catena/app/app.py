"""The app: it is started, it shows the chat screen, it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import App
from textual.binding import BindingType
from textual.screen import Screen
from textual.worker import WorkerFailed

from catena.app import themes
from catena.screens.chat.screen import ChatScreen
from catena.settings.settings import Start
from catena.terminal.driver import BackgroundReported, TerminalDriver
from catena.terminal.input_filters import dark_by_environment
from catena.terminal.sequences import clipboard, notification
from catena.text.safe_strips import SafeStrips

if TYPE_CHECKING:
    from textual.filter import LineFilter

    from catena.workspace.tabs import OpenTabs


_LARGE_CLIPBOARD = 70_000  # bytes; many terminals ignore more


class CatenaApp(App[None], inherit_bindings=False):
    """Wiring: terminal, themes, the store's life, and the chat screen."""

    TITLE = "Catena"
    ENABLE_COMMAND_PALETTE = False
    # Textual reads no styles of a default screen, and for those of another it would read all styles anew.
    CSS_PATH = ["../screens/chat/chat.tcss", "../screens/common/picker.tcss", "../screens/common/page.tcss"]  # noqa: RUF012 - as Textual does
    BINDINGS: ClassVar[list[BindingType]] = []
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-wide")]  # noqa: RUF012 - as Textual declares them
    VERTICAL_BREAKPOINTS = [(0, "-short"), (15, "-tall")]  # noqa: RUF012

    def __init__(self, start: Start, *, environment: Mapping[str, str]) -> None:
        no_color = bool(environment.get("NO_COLOR"))
        super().__init__(driver_class=TerminalDriver, ansi_color=True if no_color else None)
        self._start = start
        self._last_look = SafeStrips()
        self._environment = environment
        self._ready_to_open = asyncio.Event()
        self._left = asyncio.Event()
        self.come_back: str | None = None  # the conversation that was left, once its tabs are kept
        self.not_sent: list[str] = []  # of what waited for its time when it was left, in words
        for theme in themes.themes():
            self.register_theme(theme)
        wanted = start.settings.theme
        self._theme_is_ours = wanted not in self.available_themes
        if self._theme_is_ours or wanted is None:
            wanted = themes.default_theme(environment, dark=dark_by_environment(environment))
        self.theme = wanted

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every line of every widget passes through on its way to the terminal."""
        return [*super().get_line_filters(), self._last_look]

    def get_default_screen(self) -> Screen[None]:
        """The chat screen, without anything in it yet."""
        return ChatScreen(
            self._start, environment=self._environment, notify_terminal=self._notify_terminal, leave=self.exit
        )

    @property
    def chat(self) -> ChatScreen:
        """The one screen that is always there."""
        screen = self.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    def on_mount(self) -> None:
        """Everything else comes after the first frame."""
        self.call_after_refresh(self._first_frame)

    def _first_frame(self) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.accept_input()
        self._ready_to_open.set()

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """The store and the conversations, for as long as the app runs inside; tabs are kept at the end."""
        life = asyncio.create_task(self._live())
        try:
            yield
        finally:
            self._left.set()
            self._ready_to_open.set()
            await life

    async def _live(self) -> None:
        await self._ready_to_open.wait()
        if self._left.is_set():
            return
        try:
            from catena.app.opening import open_tabs
            from catena.workspace.pending import drafts_left, typed_in_vain
            from catena.workspace.trouble import lost_by_leaving
            from catena_store.ids import utc_now

            async with open_tabs(self._start) as tabs:
                await self._show(tabs)
                await self._left.wait()
                self.not_sent = lost_by_leaving(tabs.tabs, utc_now())
                self.come_back = await tabs.leave()
                self.not_sent += drafts_left(tabs.unkept)
                self.not_sent += typed_in_vain(tabs.in_hand.homeless)
        except Exception as error:  # noqa: BLE001 - the edge: whatever ends the store's life ends the app, in words
            self._end_with(error)

    async def _show(self, tabs: OpenTabs) -> None:
        if not self._left.is_set():
            await self.chat.begin(tabs)

    def _end_with(self, error: Exception) -> None:
        from catena.errors import explain

        text, status = explain(error)
        logging.getLogger(__name__).error("the store's life ended", exc_info=error)
        if self.is_running:
            # As text: a string would be read as markup, and brackets in it as tags.
            self.exit(return_code=int(status), message=Text(f"catena: {text}"))
        else:
            print(f"catena: {text}", file=sys.stderr)
        self.not_sent += self.chat.written_in_vain()

    def _handle_exception(self, error: Exception) -> None:
        """An error of our own: the details go to the log file, one line to the person."""
        from catena.errors import explain

        if isinstance(error, WorkerFailed) and isinstance(error.error, Exception):
            error = error.error
        if self._exception is None:  # how Textual's pilot learns of it
            self._exception = error
            self._exception_event.set()
        text, _ = explain(error)
        self._return_code = 1
        self.panic(Text(f"catena: {text}"))

    def on_background_reported(self, event: BackgroundReported) -> None:
        """The terminal said whether it is dark: believe it, where the person chose no theme."""
        if self._theme_is_ours and self.theme in (themes.DARK, themes.LIGHT):
            self.theme = themes.default_theme(self._environment, dark=event.dark)

    def copy_to_clipboard(self, text: str) -> None:
        """Send the text to the terminal, and say no more than that: no terminal answers."""
        self._clipboard = text
        self._write_past_screen(clipboard(text, self._environment))
        size = len(text.encode(errors="replace"))
        lines = text.count("\n") + 1
        amount = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        large = "; it may refuse so much" if size > _LARGE_CLIPBOARD else ""
        self.chat.hints.say(f"Sent {amount} to the terminal for its clipboard{large}.")

    def _notify_terminal(self, text: str) -> None:
        self._write_past_screen(notification(text, self._environment))

    def _write_past_screen(self, sequence: str) -> None:
        if self._driver is not None and self.is_running:
            self._driver.write(sequence)


def run(start: Start) -> int:
    """Open the screen and stay until it is left; returns the exit status and tells how to come back."""
    return asyncio.run(_run(start))


async def _run(start: Start) -> int:
    app = CatenaApp(start, environment=dict(os.environ))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, app.exit, None, 128 + number)
    async with app.served():
        await app.run_async()
    with contextlib.suppress(OSError):
        for line in app.not_sent:
            print(line)
    if app.come_back is not None:
        with contextlib.suppress(OSError):
            print(f"To come back: catena --resume {app.come_back}")
    return app.return_code or 0
