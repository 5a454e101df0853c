"""The tests leave alone what the person who runs them has: a store, settings, sessions of the rehearsal agent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from catena.settings.file.document import config_directory
from catena_acp.rehearsal.settings import read_options
from catena_store.database.database import data_directory
from support.screen.pilot import at_the_screen

_TELL = """
import os
from catena.settings.file.document import config_directory
from catena_acp.rehearsal.settings import read_options
from catena_store.database.database import data_directory
print(data_directory(), config_directory(), read_options([], os.environ).home, sep="\\n")
"""


def places() -> list[Path]:
    return [data_directory(), config_directory(), read_options([], os.environ).home]


@pytest.fixture(scope="module")
def shared_places() -> list[Path]:
    """What a fixture would use that several tests share."""
    return places()


def test_nothing_in_a_test_has_the_places_of_the_person_who_runs_it(
    tmp_path: Path, shared_places: list[Path]
) -> None:
    told = subprocess.run([sys.executable, "-c", _TELL], capture_output=True, text=True, check=True).stdout
    for found in (places(), [Path(line) for line in told.splitlines()]):
        assert len(found) == 3
        assert all(place.is_relative_to(tmp_path) for place in found), found
    assert all(place.is_relative_to(os.devnull) for place in shared_places), shared_places


async def test_an_app_that_a_test_opens_without_a_word_on_its_places_keeps_its_store_in_those_of_the_test(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.first_tab()
    assert (tmp_path / "data" / "catena.db").exists()
