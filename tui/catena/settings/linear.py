"""Linear mode: whether it is on, and how much it says."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from catena.errors import CommandRefused

LINEAR_VARIABLE = "CATENA_LINEAR"  # of the environment; overrides the setting
ACCESSIBLE_VARIABLE = "ACCESSIBLE"  # of other programs, too: 1 asks for what a screen reader can follow


class LinearSetting(StrEnum):
    """The values of the setting, of the variable and of `--linear`."""

    AUTO = "auto"  # on where the terminal is dumb, or the output is none
    OFF = "off"
    QUIET = "quiet"  # answers, questions, failures and ends
    NORMAL = "normal"  # also tool calls, plans and seams
    WHOLE = "whole"  # as normal, with each answer once it is whole
    VERBOSE = "verbose"  # also thoughts, output of tools, sessions and usage
    SCREEN_READER = "screen-reader"  # as normal, and what is typed is the terminal's own line


def linear_setting(
    flag: str | None,
    environment: Mapping[str, str],
    setting: LinearSetting,
    *,
    reads_terminal: bool,
    writes_terminal: bool,
) -> LinearSetting | None:
    """How much linear mode says, None for the screen; the flag decides, then the variables, then the setting.

    By itself it is on only where a person types: of a file or a pipe each line would be sent as a prompt unasked.
    Raises CommandRefused for a value that is none.
    """
    wanted = setting
    accessible = LinearSetting.SCREEN_READER if environment.get(ACCESSIBLE_VARIABLE) == "1" else None
    for source, value in (
        ("--linear", flag),
        (LINEAR_VARIABLE, environment.get(LINEAR_VARIABLE)),
        (ACCESSIBLE_VARIABLE, accessible),
    ):
        if value:
            wanted = _read(source, value)
            break
    match wanted:
        case LinearSetting.OFF:
            return None
        case LinearSetting.AUTO:
            dumb = environment.get("TERM") == "dumb"
            by_itself = reads_terminal and (dumb or not writes_terminal)
            return LinearSetting.NORMAL if by_itself else None
        case _:
            return wanted


def _read(source: str, value: str) -> LinearSetting:
    try:
        return LinearSetting(value)
    except ValueError as error:
        known = ", ".join(LinearSetting)
        raise CommandRefused(f"{source} must be one of {known}, not {value}") from error
