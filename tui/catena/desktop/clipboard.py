"""Images on the person's clipboard: read with a program of the desktop, or through the terminal, also over SSH."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from catena.desktop.files import is_wsl
from catena.terminal.control.clipboard_reading import IMAGES, ClipboardFailure, ClipboardImage

_TIME = 5.0  # seconds for one program; PowerShell takes a second or two to start
_TERMINAL_TIME = 20.0  # seconds; it may have to ask the person first
_READ = 1 << 16
_TYPES = 64 * 1024  # bytes of the list of types
NO_IMAGE = "There is no image on the clipboard."

_POWERSHELL = (
    "Add-Type -AssemblyName System.Windows.Forms,System.Drawing;"
    "$i=[Windows.Forms.Clipboard]::GetImage();"
    "if($i){$m=New-Object IO.MemoryStream;$i.Save($m,[Drawing.Imaging.ImageFormat]::Png);"
    "[Convert]::ToBase64String($m.ToArray())}"
)


class NoClipboardImage(Exception):
    """No image was read; ``str()`` of it can be shown to a person."""


@dataclass(frozen=True, slots=True)
class ClipboardProgram:
    """A program that writes what is on the clipboard to its standard output."""

    read: tuple[str, ...]  # `{type}` stands for the media type
    types: tuple[str, ...] = ()  # lists the media types; without it there is one form alone
    encoding: str = ""  # base64, applescript, or as it is


_WAYLAND = ClipboardProgram(
    ("wl-paste", "--no-newline", "--type", "{type}"), types=("wl-paste", "--list-types")
)
_X11 = ClipboardProgram(
    ("xclip", "-selection", "clipboard", "-target", "{type}", "-out"),
    types=("xclip", "-selection", "clipboard", "-target", "TARGETS", "-out"),
)
_PNGPASTE = ClipboardProgram(("pngpaste", "-"))
_OSASCRIPT = ClipboardProgram(
    ("osascript", "-e", "get the clipboard as «class PNGf»"), encoding="applescript"
)
_WINDOWS = ClipboardProgram(
    ("powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command", _POWERSHELL), encoding="base64"
)


def clipboard_programs(environment: Mapping[str, str], platform: str) -> Iterator[ClipboardProgram]:
    """The programs for the desktop that the environment tells of, the best first; installed or not."""
    if platform == "darwin":
        yield _PNGPASTE
        yield _OSASCRIPT
        return
    if is_wsl(environment):
        yield _WINDOWS
    if environment.get("WAYLAND_DISPLAY"):
        yield _WAYLAND
    if environment.get("DISPLAY"):
        yield _X11


def copying_program(environment: Mapping[str, str], platform: str = sys.platform) -> tuple[str, ...]:
    """The installed program that puts its standard input on the clipboard; none over SSH, where that is elsewhere."""
    if _is_far(environment):
        return ()
    programs: list[tuple[str, ...]] = [("pbcopy",)] if platform == "darwin" else []
    if environment.get("WAYLAND_DISPLAY"):
        programs.append(("wl-copy",))
    if environment.get("DISPLAY"):
        programs += [("xclip", "-selection", "clipboard", "-in"), ("xsel", "--clipboard", "--input")]
    path = environment.get("PATH")
    return next((program for program in programs if shutil.which(program[0], path=path)), ())


async def copied_by(program: Sequence[str], text: str, environment: Mapping[str, str]) -> bool:
    """True if a program took the text. It may stay, and serve the clipboard until something else is copied."""
    try:
        process = await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(_TIME):
            await process.communicate(text.encode(errors="replace"))
    except TimeoutError:
        process.kill()
        return False
    return process.returncode == 0


def copied_words(what: str, environment: Mapping[str, str], *, failed: bool = False) -> str:
    """A message about a copy that names the way it went, as far as that is known."""
    if (program := copying_program(environment)) and not failed:
        return f"Copied {what} ({program[0]})."
    if _is_far(environment):
        return f"Sent {what} to the terminal's clipboard. Over SSH, your terminal decides whether to take it."
    return f"Sent {what} to the terminal's clipboard."


def _is_far(environment: Mapping[str, str]) -> bool:
    return bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))


class ImageClipboard:
    """The clipboard, as far as there are images on it."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        ask_terminal: Callable[[], bool],
        most_bytes: int,
        platform: str = sys.platform,
    ) -> None:
        """``ask_terminal`` asks the terminal for an image; False where it has no protocol for that."""
        self._environment = environment
        self._ask_terminal = ask_terminal
        self._most_bytes = most_bytes
        self._platform = platform
        self._asked: asyncio.Future[ClipboardImage | ClipboardFailure] | None = None
        self.copied_here = False  # what was copied last was a text in this program, as far as anybody knows

    async def read(self) -> bytes:
        """The image, whose type only its bytes tell. Raises NoClipboardImage."""
        far = _is_far(self._environment)
        first, second = (
            (self._of_terminal, self._of_programs) if far else (self._of_programs, self._of_terminal)
        )
        found = await first()
        if found is None:
            found = await second()
        if found is None:
            raise NoClipboardImage(self._nothing_reads_it())
        return found

    def answered(self, outcome: ClipboardImage | ClipboardFailure) -> None:
        """Take what the terminal sent."""
        if self._asked is not None and not self._asked.done():
            self._asked.set_result(outcome)

    async def _of_terminal(self) -> bytes | None:
        """The image that the terminal sends; None where it has no protocol for that."""
        if self._asked is not None and not self._asked.done():
            raise NoClipboardImage("The clipboard is being read already.")
        if not self._ask_terminal():
            return None
        self._asked = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(_TERMINAL_TIME):
                outcome = await self._asked
        except TimeoutError as error:  # another program has the terminal
            raise NoClipboardImage("The terminal did not send its clipboard.") from error
        if isinstance(outcome, ClipboardImage):
            return outcome.content
        raise NoClipboardImage(NO_IMAGE if outcome.empty else outcome.words)

    async def _of_programs(self) -> bytes | None:
        """The image that the first installed program writes; None if none is installed."""
        path, failure = self._environment.get("PATH"), None
        for program in clipboard_programs(self._environment, self._platform):
            if shutil.which(program.read[0], path=path) is None:
                continue
            try:
                return await self._of_program(program)
            except NoClipboardImage as error:
                failure = error
        if failure is not None:
            raise failure
        return None

    async def _of_program(self, program: ClipboardProgram) -> bytes:
        chosen = IMAGES[0]
        if program.types:
            listed = (await self._run(program.types, _TYPES)).decode(errors="replace").split()
            offered = [each for each in IMAGES if each in listed]
            if not offered:
                raise NoClipboardImage(NO_IMAGE)
            chosen = offered[0]
        most = self._most_bytes * 2 + 1024 if program.encoding else self._most_bytes
        written = await self._run(tuple(word.replace("{type}", chosen) for word in program.read), most)
        content = _decoded(written, program.encoding)
        if not content:
            raise NoClipboardImage(NO_IMAGE)
        return content

    async def _run(self, command: tuple[str, ...], most: int) -> bytes:
        """What a program writes. Raises NoClipboardImage where that is too much, or takes too long."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=dict(self._environment),
                start_new_session=True,
            )
        except OSError as error:
            raise NoClipboardImage(f"{command[0]} cannot be started: {error.strerror}.") from error
        try:
            async with asyncio.timeout(_TIME):
                written = await _read_all(process, most)
                if written is not None:
                    await process.wait()
        except TimeoutError as error:
            raise NoClipboardImage(f"{command[0]} did not answer within {_TIME:.0f} seconds.") from error
        finally:
            if process.returncode is None:
                await _end(process)
        if written is None:
            limit = self._most_bytes // 1_048_576
            raise NoClipboardImage(f"The image on the clipboard is too large (the limit is {limit} MB).")
        return written if process.returncode == 0 else b""

    def _nothing_reads_it(self) -> str:
        if self._platform == "darwin":
            return "The clipboard cannot be read: install pngpaste."
        if self._environment.get("WAYLAND_DISPLAY"):
            return "The clipboard cannot be read: install wl-clipboard."
        if self._environment.get("DISPLAY"):
            return "The clipboard cannot be read: install xclip."
        return "Your terminal does not send images. Attach a file with /attach, or drop it here."


async def _read_all(process: asyncio.subprocess.Process, most: int) -> bytes | None:
    """All that a process writes; None for more than ``most`` bytes."""
    assert process.stdout is not None
    written = bytearray()
    while piece := await process.stdout.read(_READ):
        written += piece
        if len(written) > most:
            return None
    return bytes(written)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a process with what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    while await process.stdout.read(_READ):  # its end is noticed only behind what it wrote
        pass
    await process.wait()


def _decoded(written: bytes, encoding: str) -> bytes:
    try:
        match encoding:
            case "base64":
                return base64.b64decode(b"".join(written.split()), validate=True)
            case "applescript":  # «data PNGf89504E47…»
                text = written.decode("utf-8", "replace").strip()
                return bytes.fromhex(text.removeprefix("«data PNGf").removesuffix("»"))
            case _:
                return written
    except (binascii.Error, ValueError):
        return b""
