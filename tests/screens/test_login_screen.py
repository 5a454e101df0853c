"""Logging in and out on the screen, and in the real terminal, with a second tab that none of it touches."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from catena_acp.agents.catalog import command_spec
from catena_acp.port.port import AgentSpec
from support.json_lines import json_lines
from support.screen.pilot import Person, at_the_screen
from support.screen.terminal import Place

# The rehearsal agent with other ways to log in than its own.
OTHER_WAYS = """
import json, os
from catena_acp.rehearsal.settings import Login
Login.methods = lambda self: json.loads(os.environ["WAYS"])
from catena_acp.rehearsal.__main__ import main
main()
"""
FAILING: dict[str, Any] = {
    "command": sys.executable,
    "args": ["-c", "print('no luck today'); raise SystemExit(3)"],
}


class Faults:
    """How the rehearsal agent's next requests fail."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def are(self, faults: dict[str, object]) -> None:
        written = self._path.with_suffix(".written")  # whole at once: an agent may just be looking
        written.write_text(json.dumps(faults))
        written.replace(self._path)


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Faults:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_REHEARSAL_HOME", str(tmp_path / "rehearsal"))
    monkeypatch.setenv("CATENA_REHEARSAL_LOG", str(tmp_path / "heard.jsonl"))
    monkeypatch.setenv("CATENA_REHEARSAL_FAULTS", str(tmp_path / "faults.json"))
    return Faults(tmp_path / "faults.json")


def prompts(place: Path) -> list[list[str]]:
    """The prompts that agents heard."""
    return [
        entry["blocks"]
        for entry in json_lines(place / "heard.jsonl")
        if entry.get("method") == "session/prompt"
    ]


def other_ways(place: Path, *ways: dict[str, object], **env: str) -> AgentSpec:
    script = place / "other_ways.py"
    script.write_text(OTHER_WAYS)
    spec = command_spec(f"{shlex.join([sys.executable, str(script)])} --auth=required")
    return AgentSpec(spec.name, spec.title, spec.command, (("WAYS", json.dumps(ways)), *env.items()))


def do(person: Person, command: str) -> None:
    person.chat.do(command)


async def test_r06_after_a_login_the_same_prompt_goes_out_in_its_tab_and_the_other_tab_works_on(
    tmp_path: Path, faults: Faults
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say canary-one")
        await person.sees("  canary-one")
        await person.idle()
        await person.new_tab()
        await person.say("say begun; ask Go on?; say ended")
        await person.sees("  begun", "Go on?")
        first, second = person.tabs
        await person.to_tab(1, "ctrl+pageup")
        await person.sees("  canary-one")
        faults.are({"prompt": {"login": True, "times": 1}})
        await person.say("echo")
        await person.sees("l Log in")
        await person.idle()

        await person.press("tab")
        await person.until(lambda: person.area.place == "trouble", "the keys to go to the panel")
        await person.press("l")

        await person.sees("Logged in to Rehearsal: the prompt that needed it is sent again.")
        await person.until(
            lambda: [each[-1] for each in prompts(tmp_path)[2:]] == ["echo", "echo"], "the prompt"
        )
        await person.idle()
        assert person.tab is first and person.draft == ""
        assert person.text.count("▌ echo") == 1
        assert "canary-one" in person.text.partition("▌ echo")[2]
        await person.to_tab(2, "ctrl+pagedown")
        await person.until(lambda: person.area.place == "question", "the keys to go to the question")
        await person.press("y")
        await person.sees("  begun", "  ended")
        await person.until(lambda: not second.busy, "the other tab's end")
        assert second.trouble.standing is None and not second.failed


async def test_r06_a_login_typed_in_place_of_the_prompt_sends_the_prompt_and_a_changed_one_stays(
    tmp_path: Path, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_REHEARSAL_FLAGS", "--auth=required")
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say one")
        await person.until(lambda: person.draft == "say one", "the text back in the composer")
        await person.idle()
        await person.say("/login")
        await person.sees("  one")
        await person.idle()

        await person.say("/logout")
        await person.sees("Log out of Rehearsal?")
        await person.press("down", "enter")
        await person.sees("logged out")
        await person.idle()
        await person.say("say two")
        await person.until(lambda: person.draft == "say two", "the text back in the composer")
        await person.idle()
        person.composer.put("say three")
        do(person, "login")
        text = await person.sees(
            "Logged in to Rehearsal. You edited the prompt that needed it: press Enter to"
        )
        assert person.draft == "say three"
        assert "needs a login" not in text  # nor the panel that says so, above a sentence that it is done
    assert prompts(tmp_path) == [["say one"]]


async def test_a_login_that_waits_says_so_and_escape_gives_it_up(
    tmp_path: Path, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_REHEARSAL_FLAGS", "--auth=required")
    faults.are({"authenticate": {"silent": True}})
    async with at_the_screen(str(tmp_path), size=(110, 30)) as person:
        await person.say("say one")
        await person.until(lambda: person.draft == "say one", "the text back in the composer")
        await person.idle()
        do(person, "login")
        await person.sees("waiting for Rehearsal to log in", "esc cancel")
        await person.press("escape")
        await person.sees("Cancelled")
        await person.idle()
        assert person.draft == "say one"


async def test_w13_of_several_logins_one_is_chosen_and_one_of_variables_is_explained_by_their_names_alone(
    tmp_path: Path, faults: Faults
) -> None:
    agent = other_ways(
        tmp_path,
        {"id": "web", "name": "Account \x1b[31m", "description": "In the browser"},
        {
            "id": "key",
            "name": "API key",
            "type": "env_var",
            "description": "A key of your own",
            "vars": [{"name": "SHOP_KEY"}, {"name": "OTHER_KEY"}],
        },
        SHOP_KEY="sesame",
    )
    async with at_the_screen(str(tmp_path), agent=agent) as person:
        await person.idle()
        do(person, "login")
        await person.sees("Account", "In the browser", "by the agent", "API key", "by environment variables")
        await person.press("down", "enter")
        text = await person.sees(
            "SHOP_KEY: is set", "OTHER_KEY: is not set", "[agents.NAME.env]", "config.toml"
        )
        assert "sesame" not in text
        await person.press("escape")
        await person.back()
        await person.idle()


async def test_w13_a_login_that_fails_is_told_with_another_way_and_everything_stays(
    tmp_path: Path, faults: Faults
) -> None:
    agent = other_ways(tmp_path, {"id": "web", "name": "Account"})
    async with at_the_screen(str(tmp_path), agent=agent) as person:
        await person.say("say one")
        await person.until(lambda: person.draft == "say one", "the text back in the composer")
        await person.idle()
        do(person, "login")
        await person.sees("login failed", "no such login method", "Nothing changed.")
        assert person.draft == "say one"


async def test_m08_logging_out_asks_once_and_what_was_said_stays_on_the_screen(
    tmp_path: Path, faults: Faults
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say canary-old")
        await person.sees("  canary-old")
        await person.idle()
        do(person, "logout")
        await person.sees("Log out of Rehearsal?", "stay", "its context is cleared")
        await person.press("enter")
        await person.back()
        do(person, "logout")
        await person.sees("Log out of Rehearsal?")
        await person.press("down", "enter")
        await person.sees("logged out", "  canary-old", "Logged out of Rehearsal.")
        await person.idle()
        do(person, "login")
        await person.sees("Logged in to Rehearsal.")
        await person.idle()
        await person.say("echo")
        await person.until(lambda: len(prompts(tmp_path)) == 2, "the prompt")
        await person.idle()
        assert "canary-old" not in person.text.partition("▌ echo")[2]
    assert prompts(tmp_path)[1] == ["echo"]


def test_r06_a_login_in_the_terminal_is_run_there_and_ctrl_c_comes_back_with_everything(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    place.environment["CATENA_REHEARSAL_FLAGS"] = "--auth=terminal"
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("l +Log in")
        terminal.say("say hello world")
        terminal.wait_for("Your text is back")

        def choose_login() -> None:
            terminal.press("ctrl+p")
            terminal.wait_for("Type to filter")
            terminal.write("/login")
            terminal.wait_for(r"log in to this tab's agent")
            terminal.wait_gone("/history")
            terminal.press("enter")
            terminal.wait_for_words("Log in to Rehearsal in this terminal?")
            terminal.wait_for_words("Ctrl+C stops it and returns.")
            terminal.wait_for_words("catena_acp.rehearsal --login")
            terminal.press("enter")
            terminal.wait_for("Press Enter to log in")

        choose_login()
        terminal.wait_for_words("catena_acp.rehearsal --login")
        terminal.press("ctrl+c")
        terminal.wait_for("Login failed")
        terminal.wait_for("│ say hello world")

        choose_login()
        terminal.press("enter")
        terminal.wait_for("  hello world")
        terminal.say("say and on")
        terminal.wait_for("  and on")


def test_w13_a_login_in_the_terminal_that_fails_can_be_read_and_enter_goes_back(tmp_path: Path) -> None:
    place = Place(tmp_path)
    long = {**FAILING, "args": [*FAILING["args"], "--further", "word " * 40, "last-word"]}
    way: dict[str, object] = {"id": "shell", "name": "Shell", "_meta": {"terminal-auth": long}}
    agent = other_ways(tmp_path, way)
    with place.catena("--agent-command", shlex.join(agent.command), WAYS=json.dumps([way])) as terminal:
        terminal.wait_for("l +Log in")
        terminal.say("/login")
        terminal.wait_for("in this terminal")
        terminal.wait_for_words("last-word")  # all of it is seen before it is run
        terminal.press("escape")
        terminal.wait_gone("in this terminal")
        terminal.say("/login")
        terminal.wait_for("in this terminal")
        terminal.press("enter")
        terminal.wait_for("no luck today")
        terminal.wait_for("Press Enter to return to Catena")
        terminal.press("enter")
        terminal.wait_for_words("exited with status 3. Nothing changed.")
