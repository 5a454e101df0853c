"""The characters that a terminal can show, by what the environment says of it."""

from __future__ import annotations

import codecs
from collections.abc import Mapping

_UTF_8 = "utf-8"
_PLAIN = frozenset({"C", "POSIX"})
# Python sets this for itself where the locale is plain.
_SET_BY_PYTHON = "C.UTF-8"


def terminal_encoding(environment: Mapping[str, str], stream: str = _UTF_8) -> str:
    """The encoding that the terminal of the environment reads: UTF-8 unless the locale or the stream names another.

    A locale without a character set is taken for UTF-8: that is what terminals speak, and few say it.
    """
    if _name(stream) != _UTF_8:
        return _name(stream)
    locale = _locale(environment)
    if locale in _PLAIN:
        return "ascii"
    charset = locale.partition(".")[2].partition("@")[0]
    return _name(charset) if charset else _UTF_8


def _locale(environment: Mapping[str, str]) -> str:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        value = environment.get(name, "")
        if value and not (name == "LC_CTYPE" and value == _SET_BY_PYTHON):
            return value
    return ""


def _name(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        return _UTF_8
