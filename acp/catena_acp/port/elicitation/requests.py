"""Elicitations as agents ask them, and their answers, as frozen dataclasses. All text is untrusted."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

LONGEST = 4_000  # characters
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})  # categories of Unicode
_KEPT = "%/:=&?~#+!$,;'@()*[]-._"


@dataclass(frozen=True, slots=True)
class Address:
    """A web address as it would be opened; ``refusal`` says why it is not opened."""

    opens: str = ""  # in ASCII
    host: str = ""  # as the agent wrote it
    punycode: str = ""  # the host in ASCII, where that is not how the agent wrote it
    spoken: str = ""  # what a host in punycode reads as
    encrypted: bool = True
    refusal: str = ""


def address_of(url: str) -> Address:
    """Where an address leads. Only http and https are opened, and nothing with a user name or hidden characters."""
    if refusal := _refusal_of_text(url):
        return Address(refusal=refusal)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return Address(refusal="It is not a valid address.")
    if parts.scheme not in ("http", "https"):
        return Address(host=host, refusal="Only http and https addresses are opened.")
    if not host:
        return Address(refusal="It names no host.")
    if "@" in parts.netloc or "\\" in url:
        return Address(host=host, refusal="It has a part that hides where it leads.")
    try:
        ascii_host = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return Address(host=host, refusal="The name of its host is not valid.")
    return Address(
        opens=_in_ascii(parts, ascii_host, port),
        host=host,
        punycode=ascii_host if ascii_host != host else "",
        spoken=_spoken(host),
        encrypted=parts.scheme == "https",
    )


def visible(url: str) -> str:
    """An address with its spaces and hidden characters made visible."""
    return "".join(f"⟨{ord(each):04X}⟩" if _is_hidden(each) else each for each in url)


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN


def _refusal_of_text(url: str) -> str:
    if len(url) > LONGEST:
        return f"It is longer than {LONGEST:,} characters."
    if any(map(_is_hidden, url)):
        return "It has spaces or hidden characters in it."
    return ""


def _in_ascii(parts: SplitResult, host: str, port: int | None) -> str:
    bracketed = f"[{host}]" if ":" in host else host
    netloc = bracketed if port is None else f"{bracketed}:{port}"
    rest = (quote(part, safe=_KEPT) for part in (parts.path, parts.query, parts.fragment))
    return urlunsplit((parts.scheme, netloc, *rest))


def _spoken(host: str) -> str:
    """What a host in punycode reads as; "" for any other."""
    if not any(label.startswith("xn--") for label in host.split(".")):
        return ""
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return ""


Value = str | int | float | bool | list[str]
Content = Mapping[str, Value]
Action = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """One value that can be chosen."""

    value: str
    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """What a field is called, and whether it has to be filled in."""

    name: str  # the key of its value
    title: str
    description: str = ""
    required: bool = False
    secret: bool = False  # looks like a password, a key or the like, which no form may ask for


@dataclass(frozen=True, slots=True)
class TextField:
    """A text; lengths are in characters. A pattern that it has to match is the agent's to check."""

    label: Label
    least: int | None = None
    most: int | None = None
    format: str | None = None  # email, uri, date, date-time; others are no restriction
    default: str | None = None


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number, both bounds included."""

    label: Label
    whole: bool = False
    least: float | None = None
    most: float | None = None
    default: float | None = None


@dataclass(frozen=True, slots=True)
class BooleanField:
    """Yes or no."""

    label: Label
    default: bool | None = None


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """One of several values."""

    label: Label
    choices: tuple[FieldChoice, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True)
class ChoicesField:
    """Any number of several values, within bounds."""

    label: Label
    choices: tuple[FieldChoice, ...]
    least: int | None = None
    most: int | None = None
    default: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that cannot be filled in here; ``why`` says what is wrong with it."""

    label: Label
    why: str


Field = TextField | NumberField | BooleanField | ChoiceField | ChoicesField | UnknownField


@dataclass(frozen=True, slots=True)
class Form:
    """A form with the agent's message; fields are in the agent's order."""

    message: str
    fields: tuple[Field, ...]
    title: str = ""
    description: str = ""

    @property
    def can_be_sent(self) -> bool:
        """False if it needs a field that cannot be filled in here."""
        return not any(isinstance(field, UnknownField) and field.label.required for field in self.fields)


@dataclass(frozen=True, slots=True)
class WebPage:
    """A web address that the person is to open; ``elicitation_id`` is what the agent names when that is done."""

    message: str
    url: str
    elicitation_id: str


Elicitation = Form | WebPage


@dataclass(frozen=True, slots=True)
class ElicitationAnswer:
    """An answer; ``content`` is that of an accepted form."""

    action: Action
    content: Content | None = None


CANCEL = ElicitationAnswer("cancel")
DECLINE = ElicitationAnswer("decline")
