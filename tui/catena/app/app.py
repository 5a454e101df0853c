"""The Textual app: terminal, themes, chat screen, and the store and conversations that open after the first frame."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

from rich.color import ColorSystem
from rich.text import Text
from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.geometry import Offset
from textual.screen import Screen
from textual.theme import BUILTIN_THEMES, Theme
from textual.timer import Timer, TimerCallback
from textual.worker import WorkerFailed

from catena.app.attention import Attention
from catena.cells import cell_len, measure_by_clusters
from catena.desktop.clipboard import ImageClipboard, copied_by, copied_words, copying_program
from catena.keys.bindings import KeySequences, priority_bindings
from catena.multiplexers import in_screen
from catena.screens.chat.bars.tabs import TabBar
from catena.screens.chat.screen import ChatScreen
from catena.settings.settings import Start, at_once, paints_cells
from catena.settings.start_notes import StartNote, StartNotes
from catena.terminal.characters import Glyphs, glyphs_by_environment, terminal_encoding
from catena.terminal.control.replies import answers_queries, dark_by_environment
from catena.terminal.control.sequences import clipboard
from catena.terminal.driver import BackgroundReported, ClipboardRead, TerminalDriver, TerminalReplied
from catena.terminal.images import TerminalImages
from catena.terminal.key_gate import KeyGate
from catena.terminal.output import write_within
from catena.terminal.times import call_after
from catena.text.safe_text import safe
from catena.text.strips.safe_strips import SafeStrips
from catena.themes.catalog import ThemeCatalog
from catena.themes.colours import DARK, LIGHT, ColourDepth, colour_depth
from catena.themes.variables import DimSteps, SparingStylesheet, has_dim_steps
from catena.widgets.column import size_classes
from catena.widgets.fields.text_fields import SafeInput, SafeTextArea, field_keys
from catena.workspace.outgoing import OutgoingTexts, unsaved_answer_lines, unsaved_draft_lines, unstored_lines

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.filter import LineFilter

    from catena.app.attention import WindowTitle
    from catena.films.demo import Demo, PressedKeys
    from catena.screens.common.dialog import Dialog
    from catena.screens.settings.screen import SettingsScreen
    from catena.text.strips.filters import AsciiStrips
    from catena.workspace.tabs import OpenTabs


_MOST_IMAGE = 10 * 1024 * 1024  # bytes, as of every attachment
_SHEET_STYLES = Path(__file__).parents[1] / "screens" / "common" / "dialog.tcss"
_LAST_LINES = 0.3  # seconds for the terminal to read the last lines
_DEADLY = (  # signals that kill what does not handle them, and leave the terminal as it is
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGABRT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGXCPU,
)
_CLIPBOARD_LIMIT = 70_000  # bytes; many terminals ignore more

# Imported after the first frame, in a thread that yields to the first keys.
_PARTS = (
    "catena.app.services",
    "catena.workspace.tabs",
    "catena.screens.chat.area.panel_columns",
    "catena.widgets.completion",
    "catena.screens.chat.commands.dispatch",
    "catena.screens.chat.area.parts",
    "catena.transcript",
    "catena.app.attention",
)
_SWITCH_INTERVAL = 0.000_5  # seconds that such a thread runs before the loop may go on


T = TypeVar("T")


@runtime_checkable
class SayingScreen(Protocol):
    """A screen with a line for messages."""

    def say(self, text: str) -> None:
        """Show a message."""


class CatenaApp(App[None], inherit_bindings=False):
    """App that connects the terminal, the themes, the services and the chat screen."""

    TITLE = "Catena"
    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "../screens/chat/chat.tcss"  # of the default screen, for which Textual reads none
    BINDINGS: ClassVar[list[BindingType]] = [*priority_bindings(suspend="suspend_process")]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-wide")]  # noqa: RUF012 - as Textual declares them
    VERTICAL_BREAKPOINTS = [(0, "-short"), (15, "-tall")]  # noqa: RUF012

    def __init__(self, start: Start, *, environment: Mapping[str, str], demo: Demo | None = None) -> None:
        """``demo``: the screen is shown to others."""
        measure_by_clusters()
        no_color = bool(environment.get("NO_COLOR"))
        # Textual asks for the theme as it begins.
        self._start = start if demo is None else replace(start, clock=demo.clock)
        self._demo = demo
        self._pressed: PressedKeys | None = None  # in demo mode
        self._noted: events.Key | None = None  # among them
        self._depth = depth = colour_depth(environment)
        self.keys = start.settings.keys
        self._themes = ThemeCatalog(depth, start.settings.themes)
        self._glyphs = glyphs_by_environment(environment)
        super().__init__(driver_class=TerminalDriver, ansi_color=True if no_color else None)
        if depth is ColourDepth.INDEXED and in_screen(environment):
            self.console._color_system = ColorSystem.EIGHT_BIT  # Rich believes COLORTERM
        elif depth is ColourDepth.FULL:
            self.console._color_system = ColorSystem.TRUECOLOR  # Rich knows only COLORTERM
        self.stylesheet = SparingStylesheet(variables=self.get_css_variables())
        self._safe_strips = SafeStrips()
        self._redaction = _redaction(demo)
        self._dim_steps = DimSteps()
        stream = sys.__stdout__.encoding if sys.__stdout__ is not None else "utf-8"
        self._encoding = encoding = terminal_encoding(environment, stream)
        self._spelling = _spelling(encoding)
        self._environment = environment
        self._paints_cells = paints_cells(start.settings, environment)
        self._gate = KeyGate(
            self,
            fields=(SafeInput, SafeTextArea),
            field_keys=field_keys(self.keys),
        )
        self._sequences = KeySequences(lambda: self.keys, bound=self._bound_keys, say=self.say)
        self._title: WindowTitle | None = None  # from the first tab on
        self._attention = Attention(start.settings.notifications, environment, self._write_past_screen)
        self._clipboard_images = ImageClipboard(
            environment, ask_terminal=self._ask_terminal_for_image, most_bytes=_MOST_IMAGE
        )
        self._frame_dropped = False  # since the terminal was behind
        self._images = TerminalImages(
            start.settings.images,
            environment,
            possible=depth is ColourDepth.FULL and encoding == "utf-8",
            send=self._write_past_screen,
            room=self._room_in_terminal,
        )
        self._outgoing = OutgoingTexts()
        self._first_frame_shown = asyncio.Event()
        self._exited = asyncio.Event()
        self._quits = False  # the person asked to
        self.resume_id: str | None = None  # the active conversation at exit, once its tabs are stored
        self.unsent_lines: list[str] = []  # lines on texts that were not sent before exit
        for name in self._themes.own_names:
            self.register_theme(self._themes.theme(name))
        self._theme_is_ours = start.settings.theme is None
        self._dark = dark_by_environment(environment)
        self.theme = start.settings.theme or self._themes.default(dark=self._dark)

    @property
    def _half_rows(self) -> bool:
        full = self._depth is ColourDepth.FULL
        return self._start.settings.half_rows and full and self._glyphs.half_rows

    def get_theme(self, theme_name: str) -> Theme | None:
        """The theme of a name; one of Textual's is made of ten colours, too, when it is asked for first."""
        theme = super().get_theme(theme_name)
        if theme is not None and theme is BUILTIN_THEMES.get(theme_name):
            self.register_theme(theme := self._themes.theme(theme_name))
        return theme

    def get_css_variables(self) -> dict[str, str]:
        """The variables that styles are written in; `$half-row` is the border of a ground, which reaches half a row."""
        own = {
            "column": str(self._start.settings.width),
            "half-row": "block" if self._half_rows else "blank",
        }
        return {**super().get_css_variables(), **own}

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filters of every line of every widget."""
        dim = [self._dim_steps] if has_dim_steps(self.current_theme) else []
        return [*dim, *super().get_line_filters(), self._safe_strips, *self._redaction, *self._spelling]

    def get_default_screen(self) -> Screen[None]:
        """The chat screen, still empty."""
        chat = ChatScreen(
            self._start,
            environment=self._environment,
            gate=self._gate,
            outgoing=self._outgoing,
            call_person=self._attention.call,
            clipboard=self._clipboard_images,
            leave=self._quit,
            images=self._images,
            half_rows=lambda: self._half_rows,
        )
        chat.set_classes(size_classes(self))
        return chat

    @property
    def chat(self) -> ChatScreen:
        """The chat screen, at the bottom of the stack."""
        screen = self.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    def on_mount(self) -> None:
        """Open everything else after the first frame."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.parting = lambda: self._images.parting() + self._parting_title()
            self.app_resume_signal.subscribe(self, lambda _: self._name_window())
        self._gate.watch(self.chat)
        if self._demo is not None:
            self._show_keys()
        self.call_after_refresh(self._first_frame)

    def set_timer(
        self,
        delay: float,
        callback: TimerCallback | None = None,
        *,
        name: str | None = None,
        pause: bool = False,
    ) -> Timer:
        """Call a function after some seconds, without fail: Textual lays out a resized terminal so."""
        return call_after(self, delay, callback, name=name, pause=pause)

    async def on_event(self, event: events.Event) -> None:
        """Keys, pastes and the mouse pass the gate."""
        if isinstance(event, events.AppFocus | events.AppBlur):
            self._attention.focus_changed(isinstance(event, events.AppFocus))
            self._clipboard_images.copied_here = False
        if self._gate.holds(event):
            return
        if isinstance(event, events.Key):
            key = self._sequences.taken(event)
            if key is None:
                return
            event = key
            self._note_key(event)
        await super().on_event(event)

    def _show_keys(self) -> None:
        """Show the keys that are pressed at the foot of every screen."""
        from catena.films.demo import KeyStrip, PressedKeys

        pressed = self._pressed = PressedKeys()

        def show(screen: Screen[Any]) -> None:
            strips = list(screen.query(KeyStrip))
            for strip in strips:
                strip.refresh()
            if not strips:
                screen.mount(KeyStrip(pressed))

        self.screen_change_signal.subscribe(self, show)
        show(self.chat)

    def _note_key(self, key: events.Key) -> None:
        if self._pressed is None or key is self._noted:  # what nothing took comes here again
            return
        self._noted = key
        from catena.films.demo import KeyStrip

        typed = key.character if key.is_printable and key.character != " " else None
        into_field = isinstance(self.screen.focused, SafeInput | SafeTextArea)
        self._pressed.press(typed or key.key, types=key.is_printable and into_field)
        for strip in self.screen.query(KeyStrip):
            strip.refresh()

    def _bound_keys(self) -> frozenset[str]:
        """The keys of every binding that is possible now."""
        return frozenset(key for _, each in self.screen._modal_binding_chain for key in each.key_to_bindings)

    def say(self, text: str) -> None:
        """Show a message on the screen in front, if it has a line for it."""
        screen = self.screen
        if isinstance(screen, SayingScreen):
            screen.say(text)

    async def finish(self, step: Coroutine[Any, Any, T]) -> T:
        """Run a step that writes to its end, even if the caller is cancelled; the store stays open for it."""
        return await self._outgoing.finish(step)

    def _first_frame(self) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.accept_input()
        self._first_frame_shown.set()

    @asynccontextmanager
    async def services(self) -> AsyncIterator[None]:
        """The store and the conversations, for the app that runs in the block; tabs are stored at its end."""
        with self._context():  # which every widget that is mounted there runs in
            life = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            self._exited.set()
            self._first_frame_shown.set()
            await life
            await self._outgoing.restore_all()  # where there was no tab to keep them
            self.unsent_lines += unstored_lines(self._outgoing.unplaced)

    async def _serve(self) -> None:
        await self._first_frame_shown.wait()
        if self._exited.is_set():
            return
        try:
            self.stylesheet.read(_SHEET_STYLES)  # else the first sheet has all widgets styled anew
            async with _open_tabs(self._start, self._outgoing, self._demo) as tabs:
                # What is imported before this line is waited for by the first key.
                from catena.workspace.tab import waiting_prompt_lines
                from catena_store.ids import utc_now

                await self._show(tabs)
                self._stop_only(tabs.store.between_transactions)
                await self._exited.wait()
                self._stop_only(contextlib.nullcontext)
                self.unsent_lines = waiting_prompt_lines(tabs.tabs, utc_now())
                self.resume_id = await tabs.leave(quits=self._quits and not self.return_code)
                if trouble := tabs.store_trouble:
                    self.unsent_lines.append(f"catena: {trouble}")
                self.unsent_lines += unsaved_draft_lines(tabs.unsaved_drafts)
            self.unsent_lines += unsaved_answer_lines(tabs.unsaved_answers)
        except Exception as error:  # noqa: BLE001 - the edge: any error of the services ends the app with a message
            self._end_with(error)

    def _quit(self) -> None:
        self._quits = True
        self.exit()

    def _stop_only(self, at_rest: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        """Let Ctrl+Z stop the process in such a block only: within a transaction it would hold up all other writers."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.at_rest = at_rest

    async def _show(self, tabs: OpenTabs) -> None:
        if self.screen_stack:  # else it is about to exit
            await self.chat.begin(tabs)

    def _end_with(self, error: Exception) -> None:
        from catena.errors import explain

        text, status = explain(error)
        logging.getLogger(__name__).error("the store was closed", exc_info=error)
        if self.is_running:
            # As Text: a string would be parsed as markup.
            self.exit(return_code=int(status), message=Text(f"catena: {text}"))
        else:
            print(f"catena: {text}", file=sys.stderr)

    def _handle_exception(self, error: Exception) -> None:
        """Log an unexpected error and show one line of it."""
        from catena.errors import explain

        if isinstance(error, WorkerFailed) and isinstance(error.error, Exception):
            error = error.error
        if self._exception is None:  # read by Textual's pilot
            self._exception = error
            self._exception_event.set()
        text, _ = explain(error)
        self._return_code = 1
        self.panic(Text(f"catena: {text}"))

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Draw a frame, unless the terminal is still busy with earlier ones: then it is drawn with the next one."""
        # Textual has no public place between what a screen wants to be drawn and the driver.
        driver = self._driver
        if not isinstance(driver, TerminalDriver) or renderable is None or self._batch_count:
            super()._display(screen, renderable)
            return
        self._follow_cursor()
        if driver.accepts_frame():
            frame = driver.painted(renderable, self._cursor_cell) if self._paints_cells else renderable
            super()._display(screen, frame)  # type: ignore[arg-type]  # it is what Textual's own updates are
        elif not self._paints_cells or not driver.keep(renderable, self.console, self._cursor_cell):
            self._frame_dropped = True

    @property
    def _cursor_cell(self) -> Offset:
        """Where Textual puts the cursor behind a frame."""
        return self.screen.outer_size.clamp_offset(self.cursor_position)

    def _follow_cursor(self) -> None:
        """Put the terminal's own cursor where text is typed: there an input method shows what it composes.

        Textual moves it with the cursor of a field, but not with a field that is moved.
        """
        focused = self.screen.focused
        if isinstance(focused, SafeInput | SafeTextArea):
            self.cursor_position = focused.cursor_screen_offset

    def on_output_recovered(self) -> None:
        """Draw what was kept; everything, where a frame was dropped, or where nothing is kept."""
        driver = self._driver
        if not isinstance(driver, TerminalDriver):
            return
        kept = driver.kept(self._cursor_cell) if self._paints_cells else None
        if self._frame_dropped or kept is None:
            self._frame_dropped = False
            driver.forget_screen()
            self.refresh()
        else:
            super()._display(self.screen, kept)  # type: ignore[arg-type]

    def on_resize(self, event: events.Resize) -> None:
        """Draw everything anew: a terminal may have had other sizes meanwhile, and lost cells."""
        self._forget_terminal()
        if self.screen_stack and event.size == self.size:  # nothing would be laid out anew
            self.screen.refresh()

    def _forget_terminal(self) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.forget_screen()

    def on_background_reported(self, event: BackgroundReported) -> None:
        """Choose the theme by the terminal's background, and stand it on that, unless the person chose one."""
        self._dark = event.dark
        if not self._theme_is_ours or self.theme not in (DARK, LIGHT):
            return
        name = self._themes.default(dark=event.dark)
        self.register_theme(self._themes.theme(name, ground=event.background))
        if name == self.theme:
            self._watch_theme(name)  # other colours by the same name
        self.theme = name

    def on_terminal_replied(self, event: TerminalReplied) -> None:
        """Note what the terminal says of itself."""
        self._attention.replied(event.reply)
        self._images.replied(event.reply)
        glyphs = self._glyphs.told(event.reply)
        if glyphs != self._glyphs:
            self._draw_by(glyphs)

    def _draw_by(self, glyphs: Glyphs) -> None:
        """Draw everything anew by what the terminal makes of lines and half blocks."""
        before, self._glyphs = self._glyphs, glyphs
        if glyphs.ambiguous_wide and not before.ambiguous_wide:
            self._widen_ambiguous()
        self.refresh_css(animate=False)
        self.chat.use_settings(self._start.settings)

    def _widen_ambiguous(self) -> None:
        from catena.cells import widen_ambiguous
        from catena.text.strips.filters import MARKS, AsciiStrips

        widen_ambiguous(but=MARKS)
        self._spelling = (AsciiStrips(self._encoding, marks=MARKS),)
        if isinstance(self._driver, TerminalDriver):
            self._driver.widen_ambiguous()
        self.refresh(layout=True)

    def on_tab_bar_changed(self, event: TabBar.Changed) -> None:
        """Name the window after the tab that has the keys."""
        event.stop()
        if self._title is None:
            from catena.app.attention import WindowTitle

            self._title = WindowTitle(self._write_past_screen, spelled=self._spelled)
        for tab in event.tabs:
            if tab.active:
                self._title.name(tab.title, tab.mark)
        self._name_window()

    def _name_window(self) -> None:
        wanted = self._start.settings.window_title and self._demo is None
        if wanted and self._title is not None and answers_queries(self._environment):
            self._title.show()

    def _parting_title(self) -> str:
        return "" if self._title is None else self._title.parting()

    def _spelled(self, text: str) -> str:
        for spelling in self._spelling:
            text = spelling.spelled(text)
        return text

    def on_clipboard_read(self, event: ClipboardRead) -> None:
        """Take an image that was asked for, or pasted."""
        if not event.pasted:
            self._clipboard_images.answered(event.outcome)
        elif self.screen is self.chat:
            self.chat.take_clipboard(event.outcome)

    def _ask_terminal_for_image(self) -> bool:
        return isinstance(self._driver, TerminalDriver) and self._driver.ask_clipboard()

    def action_suspend_process(self) -> None:
        """Stop the program as a shell's Ctrl+Z does, if there is a shell that can bring it back."""
        if os.getsid(0) == os.getpid():
            self.chat.say("Cannot suspend: no shell started Catena, so fg could not resume it.")
        else:
            super().action_suspend_process()

    def on_settings_screen_changed(self, event: SettingsScreen.Changed) -> None:
        """Apply what applies at once of settings that were changed; the rest applies from the next start."""
        event.stop()
        before = self._start.settings
        settings = at_once(before, event.settings)
        self._start = replace(self._start, settings=settings)
        if settings.keys != before.keys:
            self.keys = settings.keys
            self._gate.use(field_keys(self.keys))
        if settings.notifications is not before.notifications:
            self._attention.use(settings.notifications)
        if settings.window_title != before.window_title:
            self._write_past_screen(self._parting_title())
            self._name_window()
        if settings.themes != before.themes:
            self._themes = ThemeCatalog(self._depth, settings.themes)
            for name in self._themes.own_names:
                self.register_theme(self._themes.theme(name))
        if settings.theme != before.theme or self.theme not in self.available_themes:
            self._theme_is_ours = settings.theme is None
            self.theme = settings.theme or self._themes.default(dark=self._dark)
        self.refresh_css(animate=False)
        self.chat.use_settings(settings)

    def on_dialog_help_wanted(self, event: Dialog.HelpWanted) -> None:
        """Show every key of a sheet."""
        from catena.screens.commands.help import keys_text
        from catena.screens.common.page import PageScreen

        event.stop()
        self.push_screen(PageScreen(f"Help: {event.title}", partial(keys_text, event.keys)))

    def copy_to_clipboard(self, text: str) -> None:
        """Put the text on the clipboard, as it was seen: by a program of this machine, and by the terminal.

        No terminal acknowledges it, and several take none.
        """
        text = safe(text)
        self._clipboard = text
        self._clipboard_images.copied_here = True
        self._write_past_screen(clipboard(text, self._environment))
        size = len(text.encode(errors="replace"))
        lines = text.count("\n") + 1
        amount = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        if program := copying_program(self._environment):
            self.run_worker(self._copy_by(program, text, amount), group="copy", exclusive=True)
            return
        large = " The terminal may refuse that much." if size > _CLIPBOARD_LIMIT else ""
        self.chat.say(copied_words(amount, self._environment) + large)

    async def _copy_by(self, program: Sequence[str], text: str, amount: str) -> None:
        taken = await copied_by(program, text, self._environment)
        self.chat.say(copied_words(amount, self._environment, failed=not taken))

    async def _room_in_terminal(self) -> bool:
        driver = self._driver
        return not isinstance(driver, TerminalDriver) or await asyncio.to_thread(driver.wait_for_room)

    def _write_past_screen(self, sequence: str) -> None:
        if self._driver is not None and self.is_running:
            self._driver.write(sequence)


@asynccontextmanager
async def _open_tabs(start: Start, outgoing: OutgoingTexts, demo: Demo | None) -> AsyncIterator[OpenTabs]:
    """The tabs, for as long as the store is open; a demonstration has one of its own. Raises StoreError."""
    await _import_parts()
    from catena.app.services import serve_conversations
    from catena.log import log_to_file
    from catena.workspace.tabs import OpenTabs
    from catena_store.database.database import Database, data_directory, default_path
    from catena_store.ids import new_id, utc_now

    folder = data_directory() if demo is None else data_directory() / demo.folder
    clock = utc_now if demo is None else demo.clock
    log_to_file(data_directory())
    async with (
        Database.open(folder / default_path().name, clock=clock) as db,
        serve_conversations(
            db, start.settings, chosen=start.agent, tools=demo is None, clock=clock
        ) as conversations,
    ):
        notes = StartNotes(folder)

        def note(has_tabs: bool, agent: str, profile: str) -> None:
            notes.write(start.directory, StartNote(has_tabs, agent, profile))

        yield OpenTabs(
            db,
            conversations,
            outgoing=outgoing,
            directory=start.directory,
            new_id=new_id,
            note=note,
            inputs_kept=start.settings.prompt_history,
        )


async def _import_parts() -> None:
    """Import in a thread; what is imported stays, and a collection that went through it would hold up the screen."""
    try:
        for part in _PARTS:
            await asyncio.to_thread(import_module, part)
        await asyncio.to_thread(cell_len, "…")  # the table of widths is imported for the first such character
    finally:
        gc.freeze()
        gc.enable()


def _spelling(encoding: str) -> Sequence[AsciiStrips]:
    """What replaces the characters that the terminal does not have."""
    if encoding == "utf-8":
        return ()
    from catena.text.strips.filters import AsciiStrips

    return (AsciiStrips(encoding),)


def _redaction(demo: Demo | None) -> Sequence[LineFilter]:
    """What hides who shows the screen."""
    if demo is None:
        return ()
    from catena.text.strips.filters import Redaction

    return (Redaction(demo.words),)


def run(start: Start, *, demo: bool = False) -> int:
    """Run the screen until exit, then print how to resume; returns the exit status. Raises InvalidSettings."""
    from catena.settings.checks import check_theme

    check_theme(start.settings)
    return asyncio.run(_run(start, _demo() if demo else None))


def _demo() -> Demo:
    from catena.films.demo import Demo

    return Demo.here()


async def _run(start: Start, demo: Demo | None) -> int:
    # For all of our life: the SDK is imported later, when an agent starts.
    sys.setswitchinterval(_SWITCH_INTERVAL)
    app = CatenaApp(start, environment=dict(os.environ), demo=demo)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, app.exit, None, 128 + number)
    async with app.services():
        with _ended_by_signals(app, loop):
            await app.run_async()
    lines = list(app.unsent_lines)
    if app.resume_id is not None:
        way = f"--resume {app.resume_id}" if demo is None else "--demo"
        lines.append(f"To continue: catena {way}")
    with contextlib.suppress(OSError, ValueError):
        _print_last(lines)
    return app.return_code or 0


@contextlib.contextmanager
def _ended_by_signals(app: CatenaApp, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """End the screen as an exit does where a signal would kill the process; the same one again kills it.

    They are no handlers of the loop: while another program has the terminal, its Ctrl+C and Ctrl+\\ are not ours.
    """

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        loop.call_soon_threadsafe(app.exit, None, 128 + number)

    before = {number: signal.signal(number, end) for number in _DEADLY}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_last(lines: Sequence[str]) -> None:
    """Print to a terminal that may not read any more. Raises OSError, ValueError."""
    text = "".join(f"{line}\n" for line in lines)
    sys.stdout.flush()
    write_within(_LAST_LINES, sys.stdout.fileno(), text.encode(sys.stdout.encoding, "backslashreplace"))
