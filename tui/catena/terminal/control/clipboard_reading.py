"""The clipboard by types, read through the terminal: kitty's protocol (OSC 5522), which works over SSH, too.

https://sw.kovidgoyal.net/kitty/clipboard/ has reading; pastes that the terminal reports instead of typing them
(private mode 5522) are of https://rockorager.dev/misc/bracketed-paste-mime/, of which kitty sends the list of types in
another form: both are read. A report has a password with which the terminal lets the paste be read without asking.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from catena.terminal.control.replies import OscReply

IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_TEXTS = ("text/plain;charset=utf-8", "text/plain", "UTF8_STRING", "STRING", "TEXT")
_FILES = "text/uri-list"
_CODE = 5522
_PASTE_PATIENCE = 2.0  # seconds between two packets of a paste, behind which keys wait
_ASKED_PATIENCE = 15.0  # the terminal may have to ask the person first
_LONGEST_LIST = 16 * 1024  # bytes of the names of types


@dataclass(frozen=True, slots=True)
class ClipboardText:
    """A paste that is text."""

    text: str


@dataclass(frozen=True, slots=True)
class ClipboardImage:
    """An image on the clipboard, of which only the terminal says that it is one."""

    content: bytes


@dataclass(frozen=True, slots=True)
class ClipboardFailure:
    """The reason why nothing was read, in words for the person; ``empty`` if there is no image."""

    words: str
    empty: bool = False


ClipboardOutcome = ClipboardText | ClipboardImage | ClipboardFailure


@dataclass(slots=True)
class _Reading:
    """One exchange: a paste that the terminal reports, or what we asked for."""

    id: str  # "" for what the terminal sends by itself
    asked_for: tuple[str, ...]  # empty while the types are listed
    password: str = ""
    primary: bool = False
    paste: bool = False  # keys wait until it is over
    begun: bool = False  # the terminal has agreed to send it
    last_at: float = 0.0


class ClipboardReading:
    """One exchange with the terminal at a time; whatever does not belong to it is dropped."""

    def __init__(self, *, most_bytes: int, clock: Callable[[], float]) -> None:
        self._most_bytes = most_bytes
        self._clock = clock
        self._reading: _Reading | None = None
        self._pieces: dict[str, bytearray] = {}
        self._size = 0
        self._asked = 0  # exchanges so far

    @property
    def under_way(self) -> bool:
        """True while something is awaited from the terminal."""
        return self._reading is not None

    @property
    def holds_keys(self) -> bool:
        """True while a paste is read: what is typed behind it belongs behind it."""
        return self._reading is not None and self._reading.paste

    def ask(self) -> str:
        """The sequence that asks for an image on the clipboard; it takes the place of an earlier exchange."""
        return self._ask(IMAGES, paste=False)

    def take(self, reply: OscReply) -> tuple[str, ClipboardOutcome | None]:
        """Take one packet; return what to send to the terminal, if anything, and how the exchange ended, if it did."""
        if reply.code != _CODE:
            return "", None
        metadata, _, payload = reply.body.partition(";")
        keys = dict(pair.partition("=")[::2] for pair in metadata.split(":"))
        status = keys.get("status", "")
        if keys.get("type") != "read":
            return "", None
        reading = self._reading
        if status == "OK" and not keys.get("id") and (reading is None or reading.begun):
            self._begin_list(keys)
            return "", None
        if reading is None or keys.get("id", reading.id) != reading.id:
            return "", None
        reading.last_at = self._clock()
        match status:
            case "OK":
                reading.begun = True
                return "", None
            case "DATA":
                return "", self._add(keys.get("mime", ""), payload)
            case "DONE":
                return self._end()
            case _:
                self._reading = None
                return "", _failure(status)

    def tick(self) -> ClipboardOutcome | None:
        """End an exchange whose next packet does not come."""
        reading = self._reading
        if reading is None:
            return None
        patience = _PASTE_PATIENCE if reading.paste or reading.begun else _ASKED_PATIENCE
        if self._clock() - reading.last_at < patience:
            return None
        self._reading = None
        return ClipboardFailure("The terminal did not send its clipboard.")

    def _ask(self, types: Sequence[str], *, paste: bool, password: str = "", primary: bool = False) -> str:
        self._asked += 1
        reading = _Reading(f"catena-{self._asked}", tuple(types), paste=paste, last_at=self._clock())
        self._begin(reading)
        keys = ["type=read", f"id={reading.id}"]
        if primary:
            keys.append("loc=primary")
        if password:
            keys += [f"pw={password}", f"name={_encoded('Paste event')}"]
        return f"\x1b]{_CODE};{':'.join(keys)};{_encoded(' '.join(types))}\x1b\\"

    def _begin_list(self, keys: Mapping[str, str]) -> None:
        password = keys.get("pw", "")
        self._begin(
            _Reading(
                "",
                (),
                password=password if _decoded(password) is not None else "",
                primary=keys.get("loc") == "primary",
                paste=True,
                begun=True,
                last_at=self._clock(),
            )
        )

    def _begin(self, reading: _Reading) -> None:
        self._reading = reading
        self._pieces = {}
        self._size = 0

    def _add(self, encoded_type: str, payload: str) -> ClipboardOutcome | None:
        assert self._reading is not None
        type_name, content = _decoded(encoded_type), _decoded(payload)
        if type_name is None or content is None:
            self._reading = None
            return ClipboardFailure("The terminal sent something other than its clipboard.")
        self._size += len(content) + len(type_name)
        if self._size > (self._most_bytes if self._reading.asked_for else _LONGEST_LIST):
            self._reading = None
            return ClipboardFailure(
                f"What is on the clipboard is too large (the limit is {self._most_bytes // 1_048_576} MB)."
            )
        self._pieces.setdefault(type_name.decode(errors="replace"), bytearray()).extend(content)
        return None

    def _end(self) -> tuple[str, ClipboardOutcome | None]:
        reading, self._reading = self._reading, None
        assert reading is not None
        if not reading.asked_for:
            return self._choose(reading)
        for name in reading.asked_for:
            if content := self._pieces.get(name):
                if name in IMAGES:
                    return "", ClipboardImage(bytes(content))
                return "", ClipboardText(content.decode("utf-8", "replace"))
        return "", ClipboardFailure("There is no image on the clipboard.", empty=True)

    def _choose(self, listed: _Reading) -> tuple[str, ClipboardOutcome | None]:
        """Ask for the paste in the form that it is wanted in: what has a text is pasted as that."""
        named = {name for name in self._pieces if name != "."}
        named.update(self._pieces.get(".", b"").decode(errors="replace").split())
        for wanted in (_TEXTS, IMAGES, (_FILES,)):
            if types := [name for name in wanted if name in named][:1]:
                return self._ask(types, paste=True, password=listed.password, primary=listed.primary), None
        return "", ClipboardFailure("There is neither text nor an image on the clipboard.")


def _failure(status: str) -> ClipboardFailure:
    match status:
        case "EPERM":
            return ClipboardFailure("The terminal does not allow reading its clipboard.")
        case "ENOSYS":
            return ClipboardFailure("The clipboard has nothing of that kind.", empty=True)
        case _:
            return ClipboardFailure("The terminal's clipboard is busy. Try again.")


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")


def _decoded(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
