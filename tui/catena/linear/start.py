"""Start of linear mode from the command line, and its end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from catena import __version__
from catena.errors import ExitStatus
from catena.linear.output import LineOutput
from catena.settings.linear import LinearSetting
from catena.settings.settings import Start
from catena.terminal.control.sequences import NotificationForm
from catena.terminal.output import BackgroundWriter

if TYPE_CHECKING:
    from catena.linear.client import LinearClient
    from catena.linear.context import LinearContext
    from catena.linear.input import LineInput

_LAST_SECONDS = 2.0  # for a reader that pauses to take the last lines


def run_linear(
    start: Start,
    level: LinearSetting,
    *,
    flag: str = "--linear ",
    clock: Callable[[], float] = time.monotonic,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Run until the person leaves or the input ends; returns the exit status.

    ``flag`` is how the person asked for it, for the command that continues; ``clock`` is in seconds.
    """
    try:
        return asyncio.run(_run(start, level, flag, clock, environment))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


async def _run(
    start: Start,
    level: LinearSetting,
    flag: str,
    clock: Callable[[], float],
    environment: Mapping[str, str],
) -> int:
    ways_out: list[LinearClient] = []

    def nobody_reads() -> None:
        for client in ways_out:
            client.end(ExitStatus.STOPPED)

    writer = BackgroundWriter(sys.stdout.fileno(), encoding=sys.stdout.encoding, on_broken=nobody_reads)
    off = start.settings.notifications is NotificationForm.OFF
    most_bells = 0 if off else 3 if start.settings.linear_bells else 1
    echoes = sys.stdin.isatty() and sys.stdout.isatty()
    out = LineOutput(writer.write, encoding=sys.stdout.encoding, most_bells=most_bells, marks=echoes)
    out.line(f"Catena: version {__version__}, linear mode, {level}. /help lists the commands.")
    try:
        # What is imported from here on is waited for by the first line that is typed.
        from catena.linear.client import LinearClient
        from catena.linear.context import LinearContext
        from catena.linear.input import LineInput

        source = LineInput(sys.stdin.fileno(), terminal=sys.stdin.isatty(), clock=clock)
        context = LinearContext(
            start, out, source, level=level, environment=environment, clock=clock, echoes=echoes
        )
        client = LinearClient(context)
        ways_out.append(client)
        _handle_signals(client)
        if echoes and level is not LinearSetting.SCREEN_READER and environment.get("TERM", "dumb") != "dumb":
            _edit_lines(source, out, writer)
        source.start()
        await _serve(client, context, flag=flag, aside=lambda: _aside(source, writer))
        status = client.status
    except Exception as error:  # noqa: BLE001 - the edge: a person is never shown a traceback
        from catena.errors import explain

        text, status = explain(error)
        out.line(f"Trouble: {text}")
    finally:
        if out.editor is not None:
            out.editor.give_terminal()
        await asyncio.wait({asyncio.ensure_future(writer.flush())}, timeout=_LAST_SECONDS)
        _ignore_interrupts()
    writer.check()
    return status


def _edit_lines(source: LineInput, out: LineOutput, writer: BackgroundWriter) -> None:
    """Let what is typed be edited, if this Python can."""
    try:
        from catena.linear.editor import LineEditor

        source.editor = out.editor = editor = LineEditor(sys.stdin.fileno(), writer.write)
    except (ImportError, OSError):
        return
    asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, editor.resize)


@asynccontextmanager
async def _aside(source: LineInput, writer: BackgroundWriter) -> AsyncIterator[None]:
    """The terminal has its own modes in the block, and all that was said is on it."""
    source.suspend()
    try:
        await writer.flush()
        yield
    finally:
        source.resume()


def _ignore_interrupts() -> None:
    """Ignore Ctrl+C from here on: all is saved and said, and one too many is no error."""
    signal.signal(signal.SIGINT, lambda *_: None)


def _handle_signals(client: LinearClient) -> None:
    """Let Ctrl+C stop and leave, and the end of the terminal leave; an ignored SIGHUP (``nohup``) stays ignored."""
    loop = asyncio.get_running_loop()
    # A handler of the loop's own gives way to the default one at its end, by which one Ctrl+C too many would kill.
    signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(client.interrupt))
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, client.end, 128 + number)


async def _serve(
    client: LinearClient,
    context: LinearContext,
    *,
    flag: str,
    aside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
) -> None:
    """Open the store and the conversations, serve the person, and save the tabs. Raises StoreError."""
    from catena.app.services import serve_conversations
    from catena.app.suspension import stopping_between_transactions
    from catena.linear.client import parting_lines
    from catena.log import log_to_file
    from catena.settings.start_notes import StartNote, StartNotes
    from catena.workspace.outgoing import (
        OutgoingTexts,
        unsaved_answer_lines,
        unsaved_draft_lines,
        unstored_lines,
    )
    from catena.workspace.tab import waiting_prompt_lines
    from catena.workspace.tabs import OpenTabs
    from catena_store.database.database import Database, data_directory, default_path
    from catena_store.ids import new_id, utc_now

    log_to_file(data_directory())
    start, outgoing = context.start, OutgoingTexts()
    notes = StartNotes(data_directory())
    last: list[str] = []

    def note(has_tabs: bool, agent: str, profile: str) -> None:
        notes.write(start.directory, StartNote(has_tabs, agent, profile))

    def tell(text: str) -> None:
        context.out.line(f"Note: {text}")

    async with (
        stopping_between_transactions(None, aside),  # the database may be locked while it is opened
        Database.open(default_path()) as db,
        stopping_between_transactions(db, aside),
        serve_conversations(db, start.settings, chosen=start.agent, tools=True, tell=tell) as conversations,
    ):
        db.tell_by(tell)
        tabs = OpenTabs(
            db,
            conversations,
            outgoing=outgoing,
            directory=start.directory,
            new_id=new_id,
            note=note,
            inputs_kept=start.settings.prompt_history,
        )
        try:
            await client.run(tabs)
        finally:
            last += waiting_prompt_lines(tabs.tabs, utc_now())
            resume_id = await tabs.leave(quits=client.quits and not client.status)
            if trouble := tabs.store_trouble:
                last.append(f"Trouble: {trouble}")
            last += unsaved_draft_lines(tabs.unsaved_drafts)
            last += unstored_lines(outgoing.unplaced)
            last += parting_lines(resume_id, flag=flag)
    context.out.lines([*unsaved_answer_lines(tabs.unsaved_answers), *last])
