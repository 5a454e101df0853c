"""Settings that are one of several words."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

Choice = TypeVar("Choice", bound=StrEnum)


def one_of(default: Choice) -> Callable[[object], Choice]:
    """A reader of a value of the settings file, which raises ValueError with what is wrong of it."""

    def choice(value: object) -> Choice:
        if value is None:
            return default
        known = ", ".join(type(default))
        if not isinstance(value, str):
            raise ValueError(f"must be one of {known}")
        try:
            return type(default)(value)
        except ValueError as error:
            raise ValueError(f'must be one of {known}; it is "{value}"') from error

    return choice
