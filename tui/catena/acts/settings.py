"""The act on the user's settings."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from catena.acts.surface import Done, Here, LiveReport, Refused, Report, ReportRow
from catena.errors import InvalidSettings, SettingsNotWritten
from catena.settings.checks import check_names
from catena.settings.effective import effective_settings, value_words
from catena.settings.file.location import settings_path
from catena.settings.file.writing import SettingChange, file_value, key_of, write_setting
from catena.settings.settings import ADVANCED, Settings, definition_of
from catena.text.safe_text import safe_line

_ADVANCED = "advanced"  # the word for those that are listed apart


@dataclass(frozen=True, slots=True)
class SettingsView:
    """The settings as a sheet shows them; ``advanced``: with those that are listed apart."""

    settings: Settings
    advanced: bool = False


async def settings(on: Here, wish: str) -> Done:
    """Show the settings, or those of a name; with a value, write one into the settings file."""
    path, (named, _, value) = settings_path(), wish.partition(" ")
    definition = definition_of(named)
    name = definition.name if definition else named
    if value.strip():
        try:
            change = SettingChange(key_of(name), file_value(definition, value.strip()))
            changed = await asyncio.to_thread(write_setting, path, change, check=check_names)
        except (ValueError, SettingsNotWritten, InvalidSettings) as error:
            raise Refused(str(error)) from error
        on.surface.use(changed)
        holds = f" It holds {definition.applies.value}." if definition else ""
        return Done(f"{safe_line(name)} is written into the settings file.{holds}")

    async def read() -> Report:
        rows = []
        for each in await asyncio.to_thread(effective_settings, path, os.environ):
            advanced = not ADVANCED.isdisjoint((each.name, each.key[0]))
            listed = name in ("", _ADVANCED) and advanced == bool(name)
            if listed or f"{each.name}.".startswith(f"{name}."):
                told = "hidden" if each.private and each.name != name else safe_line(value_words(each.value))
                line = f"line {each.line}" if each.line else "default"
                rows.append(ReportRow(each.name, [told, f"from {each.variable}" if each.variable else line]))
        if not rows:
            raise Refused(f"{safe_line(name)} is not a setting; /settings lists them.")
        if not name:
            rows.append(ReportRow("advanced", [f"/settings {_ADVANCED} lists {len(ADVANCED)} more"]))
        return Report("Settings", "Setting", rows)

    return Done(report=LiveReport(SettingsView(on.settings, advanced=name == _ADVANCED), read))
