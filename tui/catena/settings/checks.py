"""Checks of names in the settings that need to know which themes and agents there are, beyond what the reader does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from catena.settings.file.document import SettingsDocument
from catena.settings.settings import SETTINGS, Settings, wrong_setting


def check_theme(settings: Settings) -> None:
    """Raise InvalidSettings where the settings name a theme that does not exist."""
    if settings.theme is None:
        return
    from catena.themes.catalog import ThemeCatalog
    from catena.themes.colours import ColourDepth

    names = ThemeCatalog(ColourDepth.FULL, settings.themes).names
    if settings.theme in names:
        return
    if (whole := f"catena-{settings.theme}") in names:  # as the list of themes shows it
        raise wrong_setting(("theme",), f'is "{settings.theme}"; the whole name is "{whole}"')
    raise wrong_setting(("theme",), f'must be one of {", ".join(names)}; it is "{settings.theme}"')


def check_names(settings: Settings) -> None:
    """Raise InvalidSettings where the settings name a theme or an agent that does not exist."""
    check_theme(settings)
    if settings.agent is None or settings.agent in settings.agents:
        return
    from catena_acp.agents.catalog import is_known

    if not is_known(settings.agent):
        raise wrong_setting(("agent",), f'is not an agent: "{settings.agent}"; see `catena agents`')


@dataclass(frozen=True, slots=True)
class OldName:
    """An old name of a setting that a file has."""

    name: str
    setting: str
    line: int | None


def old_names(document: SettingsDocument) -> Iterator[OldName]:
    """The old names of settings in a file, which are still read."""
    for each in SETTINGS:
        for name in each.old_names:
            if name in document.values:
                yield OldName(name, each.name, document.line_of((name,)))
