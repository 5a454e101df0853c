"""Images on the clipboard: read with programs of the desktop, and through a terminal that speaks OSC 5522."""

from __future__ import annotations

import base64
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from catena.desktop.clipboard import (
    ImageClipboard,
    NoClipboardImage,
    clipboard_programs,
    copied_words,
    copying_program,
)
from catena.terminal.control.clipboard_reading import (
    ClipboardFailure,
    ClipboardImage,
    ClipboardOutcome,
    ClipboardReading,
    ClipboardText,
)
from catena.terminal.control.replies import OscReply
from support.screen.pilot import at_the_screen
from support.screen.terminal import Place, Terminal

PNG = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(20_000)


def encoded(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def listed(types: Sequence[str], *, password: str = "", each: bool = False) -> Iterator[str]:
    """The packets of a paste; ``each``: a packet for each type, as the specification has it, and not all in one."""
    yield "type=read:status=OK" + (f":pw={encoded(password)}" if password else "")
    if each:
        yield from (f"type=read:status=DATA:mime={encoded(name)};" for name in types)
    else:
        yield f"type=read:status=DATA:mime={encoded('.')};{encoded(' '.join(types))}"
    yield "type=read:status=DONE"


def data(name: str, content: bytes, id: str) -> Iterator[str]:
    """The packets of the clipboard's content."""
    yield f"type=read:id={id}:status=OK"
    for at in range(0, len(content), 4_096):
        yield f"type=read:id={id}:status=DATA:mime={encoded(name)};{encoded(content[at : at + 4_096])}"
    yield f"type=read:id={id}:status=DONE"


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reading(clock: Clock) -> ClipboardReading:
    return ClipboardReading(most_bytes=100_000, clock=clock)


def taken(reading: ClipboardReading, packets: Iterator[str]) -> tuple[str, ClipboardOutcome | None]:
    """What is sent in all, and how it ended."""
    sent, outcome = "", None
    for packet in packets:
        answer, outcome = reading.take(OscReply(5522, packet))
        sent += answer
    return sent, outcome


@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize(
    ("types", "chosen"),
    [
        (("text/html", "image/png", "image/bmp"), "image/png"),
        (("image/webp", "image/jpeg"), "image/jpeg"),
        (("image/png", "text/plain"), "text/plain"),
        (("text/uri-list",), "text/uri-list"),
    ],
)
def test_w05_of_what_is_pasted_the_text_is_read_else_the_image(
    reading: ClipboardReading, types: Sequence[str], chosen: str, each: bool
) -> None:
    sent, outcome = taken(reading, listed(types, password="once", each=each))
    assert outcome is None and reading.holds_keys
    name = encoded("Paste event")
    assert sent == f"\x1b]5522;type=read:id=catena-1:pw={encoded('once')}:name={name};{encoded(chosen)}\x1b\\"
    _, outcome = taken(reading, data(chosen, PNG, "catena-1"))
    assert not reading.under_way
    if chosen.startswith("image/"):
        assert outcome == ClipboardImage(PNG)
    else:
        assert isinstance(outcome, ClipboardText)


def test_w05_nothing_is_taken_that_is_late_of_another_exchange_or_too_much(
    reading: ClipboardReading, clock: Clock
) -> None:
    assert taken(reading, data("image/png", PNG, "catena-1")) == ("", None)  # nobody asked
    reading.ask()
    clock.now += 16
    late = reading.tick()
    assert isinstance(late, ClipboardFailure) and not reading.under_way
    reading.ask()
    assert taken(reading, data("image/png", PNG, "catena-1")) == ("", None)  # it answers the first question
    assert taken(reading, data("image/png", PNG, "catena-2"))[1] == ClipboardImage(PNG)
    reading.ask()
    sent, outcome = taken(reading, list_until_failure(reading))
    assert not sent and isinstance(outcome, ClipboardFailure) and "too large" in outcome.words
    reading.ask()
    assert isinstance(taken(reading, iter(["type=read:id=catena-4:status=EPERM"]))[1], ClipboardFailure)
    reading.ask()
    broken = iter(["type=read:id=catena-5:status=OK", "type=read:id=catena-5:status=DATA:mime=?;?"])
    assert isinstance(taken(reading, broken)[1], ClipboardFailure)


def list_until_failure(reading: ClipboardReading) -> Iterator[str]:
    for packet in data("image/png", bytes(200_000), "catena-3"):
        if not reading.under_way:
            return
        yield packet


def test_w05_a_paste_that_stops_halfway_lets_the_keys_go(reading: ClipboardReading, clock: Clock) -> None:
    taken(reading, listed(("image/png",)))
    assert reading.holds_keys and reading.tick() is None
    clock.now += 3
    assert isinstance(reading.tick(), ClipboardFailure) and not reading.holds_keys


# The terminal.


class SharingTerminal:
    """A terminal with a clipboard, which it sends by types."""

    def __init__(self, terminal: Terminal, contents: Mapping[str, bytes]) -> None:
        self.terminal = terminal
        self.contents = contents
        self._answered = 0

    def begin(self) -> None:
        self.terminal.wait_for_output(b"\x1b[?5522$p")
        self.terminal.write("\x1b[?5522;2$y")
        self.terminal.wait_for_output(b"\x1b[?5522h")

    def send(self, packets: Iterator[str]) -> None:
        self.terminal.write_all("".join(f"\x1b]5522;{packet}\x1b\\" for packet in packets))

    def asked(self) -> tuple[str, str]:
        """The next question: its id, and the types that it is about."""
        pattern = rb"\x1b\]5522;type=read:id=([\w-]+)[^;\x1b]*;([\w+/=]+)\x1b"

        def come() -> list[tuple[bytes, bytes]]:
            return re.findall(pattern, self.terminal.output)[self._answered :]

        self.terminal.wait_until(lambda: bool(come()), "the clipboard to be asked for")
        id, types = come()[0]
        self._answered += 1
        return id.decode(), base64.b64decode(types).decode()

    def answer(self) -> None:
        """Send what is asked for next."""
        id, types = self.asked()
        name = types.split()[0]
        self.send(data(name, self.contents[name], id))


def test_w05_an_image_comes_over_the_terminal_and_keys_behind_a_paste_stay_behind_it(tmp_path: Path) -> None:
    with Place(tmp_path).catena("--agent", "rehearsal", PATH="/usr/bin:/bin") as terminal:
        terminal.wait_for("Understudy")
        sharing = SharingTerminal(terminal, {"image/png": PNG, "text/plain": b"say one\nsay two"})
        sharing.begin()
        # Pasted: the image, with no question asked.
        sharing.send(listed(["image/png", "text/html"], password="once"))
        sharing.answer()
        terminal.wait_for(r"\+ image-1.png 20 kB")
        # Pasted: a text, which stands before what was typed behind it.
        sharing.send(listed(["text/plain"], password="twice"))
        terminal.write(" behind")
        sharing.answer()
        terminal.wait_for(r"say one[^\n]*\n[^\n]*say two behind")
        # Asked for with a key; the image is there already.
        terminal.press("ctrl+v")
        sharing.answer()
        terminal.wait_for(r"image-1.png is attached already")
        # What comes late is not typed.
        sharing.send(data("image/png", PNG[:5_000], "catena-9"))
        terminal.write("!")
        terminal.wait_for(r"say two behind!")
        terminal.press("ctrl+c")
        terminal.press("ctrl+d")
        terminal.wait_for_output(b"\x1b[?5522l")


# The desktop.


@pytest.mark.parametrize(
    ("environment", "platform", "programs"),
    [
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux", ["wl-paste", "xclip"]),
        ({"WSL_DISTRO_NAME": "Ubuntu", "DISPLAY": ":0"}, "linux", ["powershell.exe", "xclip"]),
        ({}, "darwin", ["pngpaste", "osascript"]),
        ({}, "linux", []),
    ],
)
def test_w05_the_programs_are_those_of_the_desktop(
    environment: Mapping[str, str], platform: str, programs: list[str]
) -> None:
    assert [program.read[0] for program in clipboard_programs(environment, platform)] == programs


def _installed(directory: Path, name: str, script: str) -> dict[str, str]:
    """An environment in which a script is the only program of a desktop."""
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{directory}:{os.environ['PATH']}", "WAYLAND_DISPLAY": "none", "HOME": str(directory)}


async def _read(environment: Mapping[str, str], platform: str = "linux") -> bytes:
    clipboard = ImageClipboard(
        environment, ask_terminal=lambda: False, most_bytes=1_000_000, platform=platform
    )
    return await clipboard.read()


async def test_w05_an_image_is_read_with_the_program_of_the_desktop(tmp_path: Path) -> None:
    (picture := tmp_path / "picture").write_bytes(PNG)
    lists = "case $1 in --list-types) echo text/html; echo image/png;; *)"
    environment = _installed(
        tmp_path / "w", "wl-paste", f"{lists} [ $3 = image/png ] && cat {picture};; esac"
    )
    assert await _read(environment) == PNG
    mac = _installed(tmp_path / "m", "osascript", f"printf '«data PNGf{PNG.hex().upper()}»\\n'")
    assert await _read(mac | {"PATH": f"{tmp_path / 'm'}:/usr/bin:/bin"}, "darwin") == PNG
    wsl = _installed(tmp_path / "p", "powershell.exe", f"base64 {picture}")
    assert await _read(wsl | {"WSL_DISTRO_NAME": "Ubuntu", "WAYLAND_DISPLAY": ""}) == PNG


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo text/plain", "There is no image"),
        ("exit 1", "There is no image"),
        ("case $1 in --list-types) echo image/png;; *) head -c 2000000 /dev/zero;; esac", "too large"),
        ("case $1 in --list-types) echo image/png;; *) yes;; esac", "too large"),
    ],
)
async def test_w05_a_clipboard_without_an_image_is_said_in_words(
    tmp_path: Path, script: str, words: str
) -> None:
    with pytest.raises(NoClipboardImage, match=words):
        await _read(_installed(tmp_path / "bin", "wl-paste", script))


async def test_w05_without_a_program_and_a_terminal_for_it_the_way_to_one_is_said() -> None:
    with pytest.raises(NoClipboardImage, match="install wl-clipboard"):
        await _read({"PATH": "/nowhere", "WAYLAND_DISPLAY": "wayland-0"})
    with pytest.raises(NoClipboardImage, match="/attach"):
        await _read({"PATH": "/nowhere"})


async def test_w05_what_is_on_the_clipboard_goes_with_the_next_prompt_if_it_is_an_image(
    tmp_path: Path,
) -> None:
    (picture := tmp_path / "picture").write_bytes(PNG)
    script = f"case $1 in --list-types) echo image/png;; *) cat {picture};; esac"
    environment = _installed(tmp_path / "bin", "wl-paste", script)
    async with at_the_screen(str(tmp_path), environment=environment) as person:
        await person.type("say look")
        await person.press("ctrl+v", "enter")  # Enter waits for it
        await person.sees("  look", "image-1.png")
        await person.idle()
        picture.write_text("no image at all")
        await person.say("/paste")
        await person.sees("There is no PNG, JPEG, GIF or WebP image on the clipboard.")
        assert person.tab.attachments == () and person.draft == ""
        await person.type("cut me")
        # Nothing was copied elsewhere.
        await person.press("ctrl+a", "shift+end", "ctrl+x", "ctrl+v", "ctrl+v")
        await person.until(lambda: person.draft == "cut mecut me", "what was cut, twice")


@pytest.mark.parametrize(
    ("status", "said"), [(0, "Copied 7 characters (wl-copy)."), (1, "Sent 7 characters to the")]
)
async def test_w22_a_copy_goes_to_the_clipboard_by_a_program_of_this_machine_too(
    tmp_path: Path, status: int, said: str
) -> None:
    environment = _installed(tmp_path / "bin", "wl-copy", f"cat > {tmp_path}/copied; exit {status}")
    async with at_the_screen(str(tmp_path), environment=environment) as person:
        person.app.copy_to_clipboard("a cöpy.")
        await person.sees(said)
        assert (tmp_path / "copied").read_text() == "a cöpy."


def test_w22_over_ssh_no_program_is_asked_and_the_words_say_what_it_depends_on(tmp_path: Path) -> None:
    here = _installed(tmp_path / "bin", "wl-copy", "") | {"DISPLAY": ":0"}
    assert copying_program(here, "linux") == ("wl-copy",)
    far = here | {"SSH_CONNECTION": "a 1 b 2"}
    assert copying_program(far, "linux") == ()
    assert copied_words("it", far) == (
        "Sent it to the terminal's clipboard. Over SSH, your terminal decides whether to take it."
    )
    assert copied_words("it", {}) == "Sent it to the terminal's clipboard."
