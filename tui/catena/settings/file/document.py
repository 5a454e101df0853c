"""The settings file, where it is, and as TOML whose every error has its line: ``tomllib`` keeps no positions."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from catena.errors import InvalidSettings

FILE_NAME = "config.toml"


def config_directory() -> Path:
    """The directory of the settings file: ``CATENA_CONFIG_DIR``, or the system's place for configuration."""
    if named := os.environ.get("CATENA_CONFIG_DIR"):
        return Path(named).expanduser()
    from platformdirs import user_config_path

    return user_config_path("catena")


def settings_path() -> Path:
    """The path of the settings file, whether it exists or not."""
    return config_directory() / FILE_NAME


_MOST_BYTES = 1 << 20  # of the file; a larger one is another


def read_text(path: Path) -> str | None:
    """The text of the settings file, None if there is none. Raises InvalidSettings if it cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise InvalidSettings(path, None, "is not UTF-8 text") from error
    except OSError as error:
        raise InvalidSettings(path, None, f"cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise InvalidSettings(path, None, f"is larger than {_MOST_BYTES} bytes")
    return text


class SettingsDocument:
    """The values of one settings file, and readers of them that raise InvalidSettings with the line."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    @cached_property
    def values(self) -> dict[str, Any]:
        """The file as TOML has it. Raises InvalidSettings where it is none."""
        import re
        import tomllib

        try:
            return tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"\s*\(at line (\d+), column \d+\)$", str(error))
            line = int(found[1]) if found else len(self._text.splitlines())
            why = str(error)[: found.start()] if found else str(error).removesuffix(" (at end of document)")
            raise InvalidSettings(self._path, line, f"invalid TOML: {why}") from error
        except RecursionError as error:
            line = self._line_that_raises(RecursionError)
            raise InvalidSettings(self._path, line, "invalid TOML: nested too deeply") from error
        except ValueError as error:
            line = self._line_that_raises(ValueError)
            raise InvalidSettings(self._path, line, f"invalid TOML: {error}") from error

    def _line_that_raises(self, kind: type[Exception]) -> int:
        """The line with which the file begins to raise an error that tells no line."""
        import tomllib
        from bisect import bisect_left

        lines = self._text.splitlines(keepends=True)

        def raises(count: int) -> bool:
            try:
                tomllib.loads("".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                return False  # it is cut off
            except kind:
                return True
            return False

        return bisect_left(range(len(lines)), True, key=raises)

    def tables(self, key: str) -> Mapping[str, Any]:
        """The tables of a key: `[agents.NAME]`."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong((key,), f"must be a table: [{key}.NAME]")
        return value

    def known(
        self, keys: Collection[tuple[str, ...]], tables: Iterable[str], *, old: Collection[str]
    ) -> None:
        """Check that the file has no other keys, and tables for keys with two names; ``old`` ones are not offered."""
        below: dict[str, list[str]] = {}
        for name, *rest in keys:
            below.setdefault(name, []).extend(rest)
        self.only(self.values, (), (*below, *tables), old=old)
        for name, known in below.items():
            value = self.values.get(name, {})
            if isinstance(value, dict) and known:
                self.only(value, (name,), known)
            elif known and (name,) not in keys:
                raise self.wrong((name,), f"must be a table with {', '.join(f'`{each}`' for each in known)}")

    def at(self, key: tuple[str, ...]) -> Any:
        """The value of a key, None if it is not set."""
        value: Any = self.values
        for name in key:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def only(
        self,
        table: Mapping[str, Any],
        at: tuple[str, ...],
        known: Collection[str],
        *,
        old: Collection[str] = (),
    ) -> None:
        """Check that a table has no other keys; ``old`` ones are read, and not offered."""
        for key in table:
            if key not in known and key not in old:
                raise self.wrong((*at, key), f"is not a setting; known: {', '.join(known)}")

    def text_at(self, table: Mapping[str, Any], at: tuple[str, ...]) -> str | None:
        """The text at a key of a table, None if it is not set.

        Raises InvalidSettings if it is empty or not a string.
        """
        value = table.get(at[-1])
        if value is None or (isinstance(value, str) and value):
            return value
        raise self.wrong(at, "must be a non-empty string")

    def wrong(self, at: tuple[str, ...], why: str) -> InvalidSettings:
        """The error of a key."""
        return InvalidSettings(self._path, self.line_of(at), f"`{'.'.join(at)}` {why}")

    def wrong_table(self, at: tuple[str, ...], number: int, why: str) -> InvalidSettings:
        """The error of one of several tables of a name, counted from 0."""
        import re

        name = r"\s*\.\s*".join(map(re.escape, at))
        header = re.compile(rf"\s*\[\[\s*{name}\s*\]\]")
        lines = [line for line, text in enumerate(self._text.splitlines(), 1) if header.match(text)]
        return InvalidSettings(self._path, lines[number] if number < len(lines) else self.line_of(at), why)

    def line_of(self, key: tuple[str, ...]) -> int | None:
        """The line, from 1, on which a key is set, or that of the nearest table around it.

        Only the beginnings of lines are read, which is enough for a message.
        """
        table: tuple[str, ...] = ()
        nearest: tuple[int, int | None] = (0, None)
        for number, line in enumerate(self._text.splitlines(), start=1):
            stripped = line.strip()
            if stripped.startswith("["):
                table = _names(stripped.strip("[]").partition("]")[0])
                here = table
            elif "=" in stripped and not stripped.startswith("#"):
                here = table + _names(stripped.partition("=")[0])
            else:
                continue
            length = min(len(here), len(key))
            shared = length if here[:length] == key[:length] else 0
            if shared > nearest[0]:
                nearest = (shared, number)
        return nearest[1]


def _names(dotted: str) -> tuple[str, ...]:
    import re

    names = re.findall(r"""\s*("[^"]*"|'[^']*'|[^."']+)\s*\.?""", dotted)  # a quoted one may have dots in it
    return tuple(name.strip().strip("\"'") for name in names)
