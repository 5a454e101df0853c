"""The first seconds: what is loaded after the first frame is loaded beside the keys, and no more than is needed."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.widgets import Input

from catena.themes import variables
from support.screen.pilot import at_the_screen
from support.screen.terminal import EMPTY_BOX, Place, Terminal

IMPORTED_BY_THE_LOOP = """
import asyncio, sys, threading
from catena.app.app import CatenaApp
from catena.settings.settings import Start
from catena_acp.agents.catalog import find_spec

found = []

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            found.append(name)

async def main():
    app = CatenaApp(Start(sys.argv[1], agent=find_spec("rehearsal")), environment={"TERM": "xterm-256color"})
    show_first_frame = app._first_frame

    def first_frame():
        sys.meta_path.insert(0, Finder)
        show_first_frame()

    app._first_frame = first_frame
    async with app.services(), app.run_test() as pilot:
        while getattr(app.chat.area.chat, "shown", None) is None:
            await pilot.pause(0.01)
        print(*found)

asyncio.run(main())
"""
SDK = """
from pydantic import BaseModel
from pydantic._internal import _fields
from catena_acp.protocol.sdk_import import import_sdk

calls = []
step = _fields._update_fields_from_docstrings

def counted({parameters}):
    calls.append(cls)
    return step(cls, fields, use_inspect)

_fields._update_fields_from_docstrings = counted
import_sdk()
assert _fields._update_fields_from_docstrings is counted
assert not BaseModel.model_config
from acp.schema import PromptRequest
assert PromptRequest.model_validate({{"sessionId": "s", "prompt": []}}).session_id == "s"
print(len(calls))
"""


PLUGINS = """
import sys
from catena_acp.protocol.sdk_import import import_sdk

import_sdk()
from acp.schema import PromptRequest
PromptRequest.model_validate({"sessionId": "s", "prompt": []})
print("importlib.metadata" in sys.modules, "zipfile" in sys.modules)
from importlib.metadata import distribution, version
from pydantic.networks import version as asked
print(asked("pydantic") == version("pydantic") == distribution("pydantic").version)
"""
TRACING = """
import sys
from catena_acp.protocol.sdk_import import import_sdk

import_sdk()
import acp.telemetry
print(acp.telemetry.TRACER, "opentelemetry" in sys.modules)
import opentelemetry.trace
"""
COLLECTIONS = """
import gc, sys
from pathlib import Path
import catena.cli.start

collections = []
gc.callbacks.append(lambda phase, facts: facts["generation"] == 2 and collections.append(phase))

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "catena.app.services":  # the first that is imported after the first frame
            Path(sys.argv[1]).write_text(str(len(collections)))

sys.meta_path.insert(0, Finder)
sys.exit(catena.cli.start.open_client(agent="rehearsal"))
"""


def _run(code: str, *arguments: str, **environment: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment or None
    ).stdout.strip()


def test_after_the_first_frame_the_loop_itself_imports_next_to_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    imported = _run(IMPORTED_BY_THE_LOOP, str(place.project), **place.environment)
    assert set(imported.split()) <= {"concurrent.futures.thread", "catena.log"}


def test_the_sdk_is_imported_without_a_search_for_descriptions_and_pydantic_is_left_as_it_was() -> None:
    assert _run(SDK.format(parameters="cls, fields, use_inspect=False")) == "0"


def test_a_pydantic_that_has_another_step_under_that_name_does_all_that_it_does() -> None:
    assert int(_run(SDK.format(parameters="cls, fields, use_inspect=False, more=None"))) > 100


def test_the_sdk_is_imported_without_a_search_for_plugins_in_all_that_is_installed() -> None:
    assert _run(PLUGINS).split() == ["False", "False", "True"]


def test_the_sdk_traces_nothing_though_a_library_for_that_is_installed() -> None:
    assert _run(TRACING) == "None False"


def test_no_collection_goes_through_all_that_is_imported_before_the_first_frame(tmp_path: Path) -> None:
    place, counted = Place(tmp_path), tmp_path / "collections"
    command = (sys.executable, "-c", COLLECTIONS, str(counted))
    terminal = Terminal(command, environment=place.environment, cwd=place.project, columns=80, rows=24)
    try:
        terminal.wait_for("Understudy")
        assert counted.read_text() == "0"
    finally:
        terminal.close()


def test_a_directory_without_tabs_begins_with_the_agents_in_its_first_frame_which_is_small(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    place.environment["PATH"] = str(place.home)
    for name in ("claude-agent-acp", "codex-acp", "opencode", "gemini"):
        (place.home / name).touch(mode=0o755)
    with place.catena(columns=120, rows=40, anew=True) as terminal:
        terminal.wait_for(r"Start with[\s\S]*f1 help")
        first, _, _ = terminal.output.partition(b"f1 help")
        assert len(first) <= 2_200
        assert b"\x1b[J" in first and first.count(b"Start with") == 1
        for shown in ("catena", "Claude Code", "Gemini CLI", "Rehearsal", "More agents"):
            assert shown.encode() in first


def test_what_is_sent_from_the_first_frame_goes_to_the_agent_that_is_selected(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.environment["PATH"] = str(place.home)
    with place.catena(anew=True) as terminal:
        terminal.write("say early\r")
        terminal.wait_for(r"  early\s")


def test_a_word_behind_the_key_of_the_history_is_typed_there_from_the_first_frame_and_no_prompt(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    with place.catena("--agent", "rehearsal", anew=True) as terminal:
        terminal.write("\x0fwherever\r")
        terminal.wait_for(r"╭ History ─[^\n]*\n\W*wherever ")
        terminal.press("escape")
        terminal.wait_for(EMPTY_BOX)
        assert "▌ wherever" not in terminal.text


def test_a_directory_with_tabs_never_shows_the_start(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal", anew=True) as terminal:
        terminal.say("say kept")
        terminal.wait_for(r"  kept\s[\s\S]*ctrl\+o history")  # else it asks before it quits
        terminal.press("ctrl+d")
        assert terminal.ended() == 0
    with place.catena(anew=True) as terminal:
        terminal.wait_for(r"  kept\s")
        assert b"Start with" not in terminal.output


async def test_the_first_frame_is_styled_once_for_its_size_and_without_fields_that_are_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    styled: Counter[DOMNode] = Counter()
    style = Stylesheet.update_nodes

    def counted(sheet: Stylesheet, nodes: Iterable[DOMNode], animate: bool = False) -> None:
        styled.update(nodes := list(nodes))
        style(sheet, nodes, animate)

    monkeypatch.setattr(Stylesheet, "update_nodes", counted)
    async with at_the_screen(str(tmp_path), size=(100, 30)) as person:
        assert styled[person.area.panels] == 1
        assert not person.app.screen.query(Input)
        await person.press("ctrl+f")
        await person.type("what")
        assert person.app.screen.query_one(Input).value == "what"


async def test_q01_styles_are_parsed_once_and_again_only_for_another_value_of_a_variable_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[tuple[str, int]] = []  # with the rank among the styles of other classes

    def counted(scope: str, css: str, *rest: Any, **named: Any) -> Iterable[RuleSet]:
        parsed.append((css, named["tie_breaker"]))
        return parse(scope, css, *rest, **named)

    monkeypatch.setattr(variables, "parse", counted)
    async with at_the_screen(str(tmp_path), size=(100, 30), own_styles=True) as person:
        assert len(parsed) > 20
        await person.press("ctrl+o")
        await person.until(lambda: person.app.screen is not person.app.chat, "the history")
        assert len(parsed) == len(set(parsed))
        theme = person.app.get_css_variables()
        person.app.stylesheet.set_variables(theme | {"column": "77"})
        person.app.stylesheet.reparse()
        again = parsed[len(set(parsed)) :]
        assert again and all("$column" in css for css, _ in again)
