"""Shell commands of the composer: real shells, and what of their output stands in the prompt. Section W05."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual import events

from catena.settings.settings import Settings
from catena.terminal.programs import BoundedOutput
from catena.text.prompt_text import ShellText, output_block, plain_output, shell_text
from support.clients.protocol import heard, runs, spec
from support.conversations.rehearsed import World
from support.screen.pilot import Person, at_the_screen

ENVIRONMENT = {"PATH": os.environ["PATH"], "SHELL": "/bin/sh", "MINE": "of my own"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    shop = tmp_path / "shop"
    shop.mkdir()
    return shop


async def ran(person: Person) -> None:
    await person.until(lambda: person.area.prompt.shell.running is None, "the command to end")
    await person.taken_in()


def prompts(place: Path) -> list[str]:
    return [request["params"]["prompt"][0]["text"] for request in heard(place, "session/prompt")]


async def test_w05_a_command_runs_in_the_persons_shell_and_its_output_goes_into_the_prompt(
    tmp_path: Path, shop: Path
) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path), environment=ENVIRONMENT) as person:
        await person.type("!")
        await person.sees("shell command", "enter run")
        await person.type('echo "$MINE" in $PWD; tty; exit 3')
        await person.apart()
        await person.press("enter")
        await ran(person)
        block = (
            '```console\n$ echo "$MINE" in $PWD; tty; exit 3\n'
            f"of my own in {shop}\nnot a tty\n[exit code 3]\n```\n"
        )
        assert person.draft == block
        assert not prompts(tmp_path), "nothing is sent by itself"
        await person.sees_no("shell command")
        await person.type("!true")
        await person.sees("shell command")
        await person.apart()
        await person.press("enter")
        await ran(person)
        assert person.draft == block + "```console\n$ true\n```\n"
        await person.type("why?")
        await person.press("enter")
        await person.idle()
        assert prompts(tmp_path) == [f"{block}```console\n$ true\n```\nwhy?"]
        inputs = await person.chat.context.tabs.recent_inputs()
        assert inputs[1:3] == ["!true", '!echo "$MINE" in $PWD; tty; exit 3']
        await person.press("up")
        await person.until(lambda: person.draft == inputs[0], "the last input")


async def test_u02_a_long_output_is_one_piece_behind_which_another_command_is_written(
    tmp_path: Path, shop: Path
) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path), environment=ENVIRONMENT) as person:
        await person.say("!seq 100")
        await ran(person)
        await person.sees("│ [output, 103 lines] ")
        assert person.draft.startswith("```console\n$ seq 100\n1\n") and person.draft.endswith("\n100\n```\n")
        await person.sees("Enter on the mark shows the output")
        driver = person.app._driver
        assert driver is not None
        paste = events.Paste("!touch made")
        paste.set_sender(person.app)
        driver.send_message(paste)
        await person.all_in()
        assert person.draft.endswith("\n100\n```\n !touch made"), "a paste is no command"
        await person.press(*["backspace"] * 13)
        await person.type("why")
        assert person.draft.endswith("\n100\n```\nwhy"), "its fence has a line of its own"
        await person.press(*["backspace"] * 3, "ctrl+j")
        await person.type("!echo two")
        await person.sees("shell command")
        await person.apart()
        await person.press("enter")
        await ran(person)
        await person.sees("│ [output, 103 lines] ", "│ $ echo two", "│ two")
        await person.press(*["up"] * 5, "enter")
        await person.sees("│ ```console", "│ $ seq 100")


async def test_w05_esc_stops_a_command_with_all_that_it_started(tmp_path: Path, shop: Path) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path), environment=ENVIRONMENT) as person:
        script = "trap '' TERM; sleep 1000 & echo $! $$ > pids; echo begun; wait; sleep 1000"
        await person.say(f"!{script}")
        await person.sees("  begun", "esc stops it")  # its head quotes the command
        await person.type("meanwhile")
        await person.press("escape")
        await ran(person)
        child, shell = map(int, (shop / "pids").read_text().split())
        assert not runs(child) and not runs(shell)
        assert person.draft.startswith(f"```console\n$ {script}\nbegun\n[stopped]\n```\n")
        assert person.draft.endswith("\nmeanwhile")


async def test_w05_nothing_runs_by_a_paste_alone(tmp_path: Path, shop: Path) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path), environment=ENVIRONMENT) as person:
        await person.type("!")
        driver = person.app._driver
        assert driver is not None
        for event in (events.Paste("touch made\n"), events.Key("enter", "\r")):  # in one read
            event.set_sender(person.app)
            driver.send_message(event)
        await person.all_in()
        await person.sees("Press Enter again to run")
        assert not (shop / "made").exists()
        assert person.draft == "!touch made\n"
        await person.press("enter")
        await ran(person)
        assert (shop / "made").exists()


async def test_w05_backspace_at_the_beginning_leaves_the_mode_and_a_setting_switches_it_off(
    tmp_path: Path, shop: Path
) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path), environment=ENVIRONMENT) as person:
        person.composer.put("!touch made")
        await person.sees("shell command")
        person.composer.move_cursor((0, 0))
        await person.press("backspace")
        assert person.draft == "touch made"
        await person.sees_no("shell command")
    off = Settings(shell=False)
    async with at_the_screen(
        str(shop), agent=spec(tmp_path), settings=off, environment=ENVIRONMENT
    ) as person:
        await person.say("!touch made")
        await person.sees("you said !touch made")
        assert "shell command" not in person.text
    assert not (shop / "made").exists()


async def test_w05_a_conversation_that_is_only_read_offers_no_commands(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with world.client() as desk:
        conversation_id = desk.conversation.id
        async with at_the_screen(
            str(world.project), conversation_id=conversation_id, environment=ENVIRONMENT
        ) as person:
            assert person.tab.conversation.read_only
            await person.say("!touch made")
            await person.sees("! ", "!touch made")
            assert "shell command" not in person.text
            assert person.area.prompt.shell.running is None
    assert not (world.project / "made").exists()


async def test_w05_a_command_that_floods_is_kept_at_its_beginning_and_end(tmp_path: Path, shop: Path) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path), environment=ENVIRONMENT) as person:
        await person.say("!seq 1 200000")
        await ran(person)
        assert len(person.draft) < 30_000
        assert person.draft.startswith("```console\n$ seq 1 200000\n1\n2\n")
        assert "bytes left out" in person.draft
        assert person.draft.endswith("\n199999\n200000\n```\n")


async def test_w05_a_command_runs_before_an_agent_is_chosen(shop: Path) -> None:
    async with at_the_screen(str(shop), choose=True, environment=ENVIRONMENT) as person:
        await person.say("!pwd")
        block = f"```console\n$ pwd\n{shop}\n```\n"
        await person.until(lambda: person.draft == block, "the output")
        assert not person.tabs


async def test_w05_a_shell_that_is_not_there_is_said_and_the_command_kept(tmp_path: Path, shop: Path) -> None:
    environment = ENVIRONMENT | {"SHELL": "/no/shell"}
    async with at_the_screen(str(shop), agent=spec(tmp_path), environment=environment) as person:
        await person.say("!ls")
        await person.sees("The shell cannot be started")
        assert person.draft == "!ls"


def test_w05_hostile_output_is_plain_text() -> None:
    said = "\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b[2J\r\n10%\r50%\r100%\nb\x08bold\u202eevil\x07\n"
    assert plain_output(said) == "red x\n100%\nbold⟨202E⟩evil␇"
    assert output_block("a\nb", "``` x ````\n", "") == ("`````console\n$ a\n> b\n``` x ````\n`````\n")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("!ls", ShellText("", "ls")),
        ("! ls -l\n", ShellText("", "ls -l")),
        ("!", ShellText("", "")),
        (" !ls", None),
        ("look!\n!ls", None),
        (
            "```console\n$ a\n```\n!ls",
            ShellText("```console\n$ a\n```\n", "ls"),
        ),
        ("```console\n$ a\n!ls", None),
        ("```\nx\n```\n!ls", None),
    ],
)
def test_w05_what_is_a_command(text: str, command: ShellText | None) -> None:
    assert shell_text(text) == command


def test_w05_output_is_bounded_however_it_comes() -> None:
    output = BoundedOutput()
    for number in range(100_000):
        output.add(b"%d\n" % number)
    assert output.text.startswith("0\n1\n") and output.text.endswith("\n99999\n")
    assert len(output.text) < 25_000
    lines = output.text.split("\n")
    (cut,) = [at for at, line in enumerate(lines) if "left out" in line]
    assert int(lines[cut - 1]) == cut - 1, "whole lines stand around what is left out"
    left_out = int(lines[cut].split()[1].replace(",", ""))
    whole = sum(len(b"%d\n" % number) for number in range(100_000))
    assert left_out == whole - (len(output.text) - len(lines[cut]) - 1)
