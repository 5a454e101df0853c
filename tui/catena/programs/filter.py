"""A program that is given a text and answers with one, in the background and for a limited time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import BinaryIO

from catena_acp.process_group import Guard, signal_group, wait_until_gone

_MOST = 1 << 16  # bytes that are kept of each output; the rest is read and dropped
_READ = 1 << 16
_UNGUARDED = 1.0  # seconds; most are gone by then, and a guard is a process, too
_REST = 0.2  # seconds for output behind the end of a program: what it left running may keep its pipes
_PATIENCE = 1.0  # seconds that one whose time is over has to end by itself


@dataclass(frozen=True, slots=True)
class FilterEnd:
    """How a program ended, and the beginning of what it wrote."""

    status: int  # negative for a signal
    out: str
    errors: str
    late: bool = False  # its time was over

    @property
    def trouble(self) -> str:
        """What went wrong, in words; "" where nothing did."""
        first = next((line.strip() for line in self.errors.splitlines() if line.strip()), "")
        if self.late:
            what = "took too long and was ended"
        elif self.status > 0:
            what = f"failed with exit code {self.status}"
        elif self.status < 0:
            what = f"was killed by signal {-self.status}"
        else:
            return ""
        return f"{what}: {first}" if first else what


async def run_filter(
    arguments: Sequence[str],
    text: str,
    *,
    directory: str | None,
    environment: Mapping[str, str],
    seconds: float,
) -> FilterEnd:
    """Run a program on a text until it ends, or for so many seconds.

    It has no terminal and a process group of its own, which is ended when its time is over, when the caller is
    cancelled and, after its first second, when Catena dies. Raises OSError if it cannot be started.
    """
    with ExitStack() as open_files:
        given = open_files.enter_context(TemporaryFile())  # it need not read what it is given
        given.write(text.encode("utf-8", "replace"))
        given.seek(0)
        out, errors = await _Output.open(open_files), await _Output.open(open_files)
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                cwd=directory,
                env=dict(environment),
                stdin=given,
                stdout=out.inlet,
                stderr=errors.inlet,
                start_new_session=True,
            )
        except ValueError as error:  # a NUL
            raise OSError(str(error)) from error
        finally:
            out.inlet.close()
            errors.inlet.close()
        reading = [asyncio.ensure_future(each.read()) for each in (out, errors)]
        try:
            late = not await _ends(process, seconds)
            await asyncio.wait(reading, timeout=_REST)
        finally:
            if process.returncode is None:
                signal_group(process.pid, signal.SIGKILL)
            for task in reading:
                task.cancel()
            if process.returncode is None:
                await process.wait()
    return FilterEnd(process.returncode or 0, out.text, errors.text, late)


@dataclass
class _Output:
    """One output of a program, by a pipe of ours: with asyncio's, its end is not seen while another holds them."""

    inlet: BinaryIO
    _stream: asyncio.StreamReader
    _kept: bytearray = field(default_factory=bytearray)

    @classmethod
    async def open(cls, open_files: ExitStack) -> _Output:
        outlet, inlet = os.pipe()
        writing = open_files.enter_context(os.fdopen(inlet, "wb", 0))
        stream = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(outlet, "rb", 0)
        )
        open_files.callback(transport.close)
        return cls(writing, stream)

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    async def read(self) -> None:
        while data := await self._stream.read(_READ):
            self._kept += data[: max(0, _MOST - len(self._kept))]
            if len(data) >= _READ:
                await asyncio.sleep(0.01)  # the screen goes on while a program floods it


async def _ends(process: Process, seconds: float) -> bool:
    """Wait until a program ends; after so many seconds end it, and return False."""
    if await _waited(process, min(seconds, _UNGUARDED)):
        return True
    guard: Guard | None = None
    try:
        with contextlib.suppress(OSError):
            guard = Guard(process.pid)
        if await _waited(process, max(0.0, seconds - _UNGUARDED)):
            return True
        signal_group(process.pid, signal.SIGTERM)
        await wait_until_gone(process.pid, _PATIENCE)
        return False
    finally:
        if process.returncode is None:
            signal_group(process.pid, signal.SIGKILL)
        if guard is not None:
            await guard.release()


async def _waited(process: Process, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        return False
    return True
