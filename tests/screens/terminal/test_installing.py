"""An agent that is not installed, chosen on the first screen."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from catena_acp.agents.registry.data import keep_registry
from support.agents.registry import agent_archive, archived, registry_file
from support.screen.terminal import Place


def test_w34_enter_on_a_missing_agent_shows_and_asks_in_the_terminal_and_what_is_typed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    monkeypatch.setenv("CATENA_DATA_DIR", str(place.data))
    place.environment["PATH"] = "/bin"
    fields = archived(agent_archive(tmp_path, "1.0"), "1.0", id="zebra")
    data = registry_file(tmp_path / "registry.json", fields).read_bytes()
    keep_registry(data, today=date(2100, 1, 1), source="there")
    with place.catena(columns=120, rows=40) as terminal:
        terminal.wait_for("20 more agents, not installed")
        terminal.press("down", "enter")
        terminal.wait_for("Zebra")
        terminal.press("up", "up")  # around the end, to the last
        terminal.wait_for(r"Zebra +catena agents install zebra +enter install · y copy")
        terminal.write("say hello")
        terminal.wait_for("│ say hello")
        terminal.press("enter")
        terminal.wait_for(r"source +file:///[\s\S]*Install\? \[y/N\]")
        terminal.write("n\r")
        terminal.wait_for("Zebra was not installed")
        terminal.wait_for("│ say hello")
        terminal.press("enter")
        terminal.wait_for(r"Install\? \[y/N\]")
        terminal.write("y\r")
        terminal.wait_for(r"Zebra +1\.0 +ready")
        terminal.wait_for("│ say hello")
        terminal.press("enter")
        terminal.wait_for(r"\n +hello\s")
