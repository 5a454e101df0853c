"""The keys of the composer: clear, undo, the end of the transcript, quitting, and commands that nobody knows."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual import events

from catena.screens.chat.commands.dispatch import refusal_of
from catena.widgets.composer import Composer
from catena_acp.continuity.services import Tenure
from catena_acp.conversation.prompts.queue import PromptQueue, TakenPrompt
from catena_acp.port.port import AgentSpec
from catena_store.conversations import permission_rules
from support.screen.pilot import Person, at_the_screen
from support.screen.terminal import EMPTY_BOX, KEYS, Place


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))


def written(*keys: str) -> str:
    """Keys as a terminal sends them, in one write."""
    return "".join(KEYS.get(key, key) for key in keys)


@pytest.mark.parametrize("key", ["\x1f", "\x1b[45;6u"], ids=["legacy", "kitty"])
def test_ctrl_underscore_undoes_typing_and_never_suspends(tmp_path: Path, key: str) -> None:
    with Place(tmp_path).catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.write(f"one\x1b[D{key}")
        terminal.wait_for(EMPTY_BOX)
        terminal.write(f"{key}two")
        terminal.wait_for("│ two")


def test_ctrl_c_clears_the_draft_and_the_arrow_up_in_the_same_write_brings_it_back(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.say("say a beginning")
        terminal.wait_for(r"  a beginning[\s\S]*ctrl\+o history")
        terminal.write(written(*"say a thought", "ctrl+c"))
        terminal.wait_for(EMPTY_BOX + r"[^\n]*Cleared")
        terminal.press("up")
        terminal.wait_for("│ say a thought")
        terminal.write(written("ctrl+c", "up", "up", "down", "enter"))
        terminal.wait_for(r"▌ say a thought[\s\S]*  a thought[\s\S]*ctrl\+o history")
    with place.catena() as terminal:
        terminal.wait_for(r"  a thought")
        terminal.press("up")
        terminal.wait_for("│ say a thought")


async def test_ctrl_c_clears_before_it_stops_and_a_cleared_draft_comes_back_before_what_waits(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        await person.press("ctrl+c")
        await person.sees("Press Ctrl+D or type /quit to quit.")
        await person.say("say busy; hang")
        await person.sees("  busy")
        await person.say("say later")
        await person.sees("next  say later")
        await person.type("half a thought")
        await person.press("ctrl+c")
        assert (person.draft, person.tab.busy) == ("", True)
        await person.press("up")
        await person.until(lambda: person.draft == "half a thought", "the draft to be back")
        await person.press("ctrl+c", "ctrl+underscore")
        assert person.draft == "half a thought", "undo brings it back, too"
        await person.press("ctrl+c", "ctrl+c")
        await person.sees("1 waiting: Enter sends, Ctrl+N opens it")
        await person.until(lambda: [item.held for item in person.tab.queue] == [True], "it to be held")


async def test_ctrl_c_copies_what_is_selected_in_the_composer_and_leaves_it_there(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.type("half a thought")
        await person.press("shift+home", "ctrl+c")
        await person.sees("Sent 14 characters to the terminal's clipboard")
        assert person.draft == "half a thought"


async def test_a_draft_that_is_cleared_while_an_earlier_input_is_shown_is_not_lost(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say one")
        await person.type("my draft")
        await person.press("up")
        await person.until(lambda: person.draft == "say one", "the earlier input")
        await person.press("ctrl+c", "up")
        await person.until(lambda: person.draft == "say one", "what was cleared")
        await person.press("up")
        await person.until(lambda: person.draft == "my draft", "the draft that it was shown instead of")


def test_escape_holds_what_waits_and_enter_sends_it_also_in_one_write(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.say("say busy; hang")
        terminal.wait_for("  busy")
        for label, text in (("next", "say one"), ("2", "say two")):
            terminal.say(text)
            terminal.wait_for(f"{label:<6}{text}")
        terminal.press("escape")
        terminal.wait_for("2 waiting: Enter sends, Ctrl\\+N opens them")
        terminal.wait_for("held  say one")
        terminal.write(written("x", "ctrl+c", "enter"))
        terminal.wait_for(r"  one[\s\S]*  two[\s\S]*ctrl\+o history")


async def two_at_work(person: Person) -> None:
    """Two tabs in which the agent works; the second is looked at."""
    await person.say("say busy; hang")
    await person.sees("  busy")
    await person.new_tab()
    await person.say("say at it; hang")
    await person.sees("  at it")


async def test_quitting_while_agents_work_asks_once_and_names_what_works(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_at_work(person)
        await person.press("ctrl+d")
        await person.sees("Rehearsal is working in 2 tabs. Ctrl+D or /quit again stops it and quits")
        await person.press("escape")
        await person.sees_no("is working in 2 tabs")
        assert all(tab.busy for tab in person.tabs), "Esc stopped nothing"
        await person.press("ctrl+d", "x", "backspace")
        assert "is working in 2 tabs" not in person.text
        await person.press("escape")
        await person.until(lambda: not person.tab.busy, "the turn to be stopped")
        await person.press("ctrl+d")
        await person.sees("Rehearsal is working in the tab “say busy; hang”. Ctrl+D or /quit again")
        await person.to_tab(1, "ctrl+pageup")
        await person.press("ctrl+d")
        await person.sees("Rehearsal is working. Ctrl+D or /quit again")
        await person.press("left")
        await person.sees("Rehearsal is working. Ctrl+D or /quit again")
        assert not person.app._exit
        await person.press("ctrl+d")
        await person.until(lambda: person.app._exit, "the app to be left")


@pytest.mark.parametrize("word", ["/quit", "/exit"])
async def test_quit_is_asked_about_as_the_key_is_and_typed_again_it_quits(tmp_path: Path, word: str) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_at_work(person)
        await person.type(word)
        await person.press("enter")
        await person.sees("is working in 2 tabs")
        await person.type("say other")
        await person.press("ctrl+c")
        await person.type(word)
        await person.press("enter")
        await person.sees("is working in 2 tabs")
        assert not person.app._exit, "something else was typed between"
        await person.type(word)
        await person.press("enter")
        await person.until(lambda: person.app._exit, "the app to be left")


@pytest.mark.parametrize("how", ["two keys in one write", "a signal"])
def test_quitting_at_once_asks_nobody(tmp_path: Path, how: str) -> None:
    with Place(tmp_path).catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.say("say busy; hang")
        terminal.wait_for("  busy")
        if how == "a signal":
            terminal.signal(signal.SIGTERM)
            assert terminal.ended() == 128 + signal.SIGTERM
        else:
            terminal.write(written("ctrl+d", "ctrl+d"))
            assert terminal.ended() == 0


async def test_quitting_while_nothing_works_does_not_ask(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say one")
        await person.idle()
        await person.press("ctrl+d")
        await person.until(lambda: person.app._exit, "the app to be left")


async def test_quitting_when_the_end_of_a_turn_is_seen_does_not_ask_while_it_is_looked_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_next, go_on = PromptQueue.take_next, asyncio.Event()

    async def held(
        queue: PromptQueue, tenure: Tenure, make_way: Callable[[], Awaitable[None]]
    ) -> TakenPrompt | None:
        await go_on.wait()
        return await take_next(queue, tenure, make_way)

    monkeypatch.setattr(PromptQueue, "take_next", held)
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("say one")
        await person.sees("  one")
        await person.until(lambda: not person.tab.busy, "the end of the turn to be seen")
        assert person.tab.window.busy
        await person.press("ctrl+d")
        go_on.set()
        await person.until(lambda: person.app._exit, "the app to be left")


async def test_closing_a_tab_in_which_an_agent_works_says_that_it_is_stopped(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await two_at_work(person)
        await person.say("/close")
        await person.sees(
            "Closed “say at it; hang”: Rehearsal was working and is stopped. /undo opens it again."
        )
        await person.say("/undo")
        await person.sees("  at it")


async def test_end_in_an_empty_composer_goes_to_the_end_of_the_transcript_and_follows_it(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("stream 2000 end=CURTAIN")
        await person.sees("CURTAIN")
        await person.until(lambda: not person.transcript.busy, "it to be drawn")
        await person.press("pageup", "pageup")
        await person.sees_no("CURTAIN")
        await person.type("word")
        await person.press("home", "end", "s")
        assert (person.draft, person.transcript.following) == ("words", False)
        await person.press("ctrl+c", "end")
        await person.sees("CURTAIN")
        assert person.transcript.following and person.app.focused is person.composer
        await person.press("pageup")
        await person.say("/follow")
        await person.until(lambda: person.transcript.following, "the command to do the same")


async def announced(person: Person) -> None:
    await person.until(lambda: person.tab.session and person.tab.session.commands, "the agent's commands")


async def test_a_word_that_a_command_does_not_take_is_refused_also_before_the_store_is_open(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.first_tab()
        await person.idle()
        await person.say("/rename a title")
        await person.until(lambda: person.tab.conversation.record.title == "a title", "the title")
        refused = "Unknown argument: /undo nosuch. Usage: /undo, /undo redo, /undo list"
        await person.say("/undo nosuch")
        await person.sees(refused)
        assert person.draft == "/undo nosuch"
        await person.press("ctrl+c")
        person.area.prompt.chat.submit("/undo nosuch")  # as what was entered before it was open
        await person.until(lambda: person.draft == "/undo nosuch", "the text to be back")
        await person.sees(refused)
        assert person.tab.conversation.record.title == "a title"


async def test_w03_a_command_that_nobody_has_is_refused_with_the_nearest_and_the_text_stays(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await announced(person)
        await person.idle()
        await person.say("/thme light")
        await person.sees("Unknown command /thme. Did you mean /theme? Your text is kept")
        assert person.draft == "/thme light"
        await person.press("ctrl+c")
        await person.say("/qqqqqq now")
        await person.sees("Unknown command /qqqqqq. Your text is kept; with a space before it")
        await person.press("ctrl+c")
        await person.say("say busy; hang")
        await person.sees("  busy")
        await person.say("/thme light")
        await person.sees("Unknown command /thme.")
        assert person.tab.queue == ()
        await person.press("home", "space", "enter")
        await person.sees("next  /thme light")
        assert person.draft == ""
        await person.say("/etc/hosts is a file")
        await person.until(lambda: len(person.tab.queue) == 2, "a path to be a text")


async def test_w03_a_command_without_what_it_needs_says_what_that_is(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        for name, wanted in (("/rename", "/rename TITLE"), ("/files blame", "/files blame FILE[:LINE]")):
            await person.say(name)
            await person.sees(f"Add what is missing: {wanted}")
            assert person.draft == f"{name} "
            await person.press("ctrl+c")


async def test_w03_a_name_that_is_typed_in_full_runs_although_its_command_may_take_arguments(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await announced(person)
        await person.idle()
        await person.type("/code")
        await person.sees("/code language")
        await person.press("enter")
        await person.sees("▌ /code")
        assert person.draft == ""
        await person.idle()
        await person.type("/cod")
        await person.until(lambda: person.area.prompt.completion.is_open, "the list of commands")
        await person.press("enter")
        await person.until(
            lambda: person.draft == "/code ", "the name, with what follows still to be written"
        )


async def test_w03_before_the_agent_has_announced_its_commands_every_word_is_sent(tmp_path: Path) -> None:
    silent = AgentSpec("silent", "Silent", (sys.executable, "-m", "catena_acp.rehearsal", "--no-commands"))
    async with at_the_screen(str(tmp_path), agent=silent) as person:
        await person.answered("/thme light")
        await person.sees("▌ /thme light")


async def test_u01_before_the_agent_has_announced_its_commands_only_a_whole_name_is_taken_at_once(
    tmp_path: Path,
) -> None:
    silent = AgentSpec("silent", "Silent", (sys.executable, "-m", "catena_acp.rehearsal", "--no-commands"))
    async with at_the_screen(str(tmp_path), agent=silent) as person:
        await person.idle()
        await person.type("/hist")
        await person.press("enter")
        await person.sees("The agent has not listed its commands yet.")
        assert person.draft == "/hist"
        await person.press("enter")
        await person.sees("╭ History")


async def test_u01_the_name_of_a_template_that_is_not_wanted_waits_for_the_agents_command_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> bool:
        return False

    monkeypatch.setattr(permission_rules, "file_answer", refused)
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    for folder, name in ((".catena/prompts", "review"), ("config/prompts", "reviewer")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{name}.md").write_text("say it")
    silent = AgentSpec("silent", "Silent", (sys.executable, "-m", "catena_acp.rehearsal", "--no-commands"))
    async with at_the_screen(str(tmp_path), agent=silent) as person:
        await person.idle()
        await person.type("/review")
        await person.sees("/reviewer")
        await person.press("enter")
        await person.sees("The agent has not listed its commands yet.")
        assert person.draft == "/review"


def test_w03_a_command_that_nobody_has_is_refused_also_when_its_enter_comes_in_one_write(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    place.without_parking()
    with place.catena("--agent", "rehearsal") as terminal:
        terminal.wait_for("Understudy")
        terminal.say("say a beginning")
        terminal.wait_for(r"  a beginning[\s\S]*ctrl\+o history")
        terminal.write(written(*"/thme light", "enter", "\x1b[C", "!"))
        terminal.wait_for("│ /thme light!")


@pytest.mark.parametrize(
    ("text", "agent", "refused"),
    [
        ("/thme", ["plan"], "Unknown command /thme. Did you mean /theme? "),
        ("/revert", [], "Unknown command /revert. Did you mean /rewind? "),
        ("/revert", ["revert"], ""),
        ("/undo nosuch", [], "Unknown argument: /undo nosuch. Usage: /undo, /undo redo, /undo list"),
        ("/undo redo", [], ""),
        ("/undo\nnosuch", [], ""),
        ("/stop it now", None, "Unknown argument: /stop it now. Usage: /stop"),
        ("/delete everywhere", [], ""),
        ("/rewind it", [], ""),
        ("/rest", [], "Unknown command /rest. Your text is kept"),
        ("/Thme", [], "Unknown command /Thme. Did you mean /theme? "),
        ("/plam it\nwell", ["plan:now", "plan"], "Unknown command /plam. Did you mean /plan? "),
        ("/mcp:", ["mcp:tool"], "Unknown command /mcp:. Did you mean "),
        ("/plan", ["plan"], ""),
        ("/resume", [], ""),
        ("/thme", None, ""),
        (" /thme", [], ""),
        ("/etc/hosts", [], ""),
        ("/", [], ""),
        ("/ thme", [], ""),
        ("/thme?", [], ""),
        ("a /thme", [], ""),
    ],
)
def test_w03_only_a_first_word_that_is_a_command_by_its_form_is_refused(
    text: str, agent: list[str] | None, refused: str
) -> None:
    assert refusal_of(text, agent).startswith(refused) and bool(refusal_of(text, agent)) == bool(refused)


async def test_the_mode_word_stands_with_what_is_browsed_and_goes_with_it(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(40, 12)) as person:
        await person.answered("say one")
        await person.idle()
        assert "BROWSE" not in person.text
        await person.browse()
        await person.sees(f"BROWSE · answer of {time_of(person)}")
        await person.press("k")
        await person.sees(f"BROWSE · prompt of {time_of(person)}")
        await person.press("escape")
        await person.sees_no("BROWSE")


def time_of(person: Person) -> str:
    browsed = person.transcript.record(person.transcript.current)
    assert browsed is not None
    return f"{browsed.created_at.astimezone():%H:%M}"


async def test_u01_an_enter_that_waited_for_a_completion_does_not_run_it_unseen(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.answered("say one")
        await person.type("/res")
        await person.sees("/clear = reset")
        for _ in range(2):  # both waited: what the first one does is drawn behind the second
            person.composer.post_message(Composer.CompletionTaken(run=True))
        await person.until(lambda: person.draft == "/clear", "the name to be completed")
        await person.idle()
        assert person.draft == "/clear" and "context cleared" not in person.text


async def test_names_behind_a_command_are_those_of_the_tab_that_is_shown(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        for label in ("alpha", "beta"):
            await person.answered(f"say {label}")
            await person.say(f"/checkpoint {label}")
            await person.sees(f"Saved checkpoint “{label}”")
            await person.type("/rewind ")
            await person.sees(f"/rewind {label}")
            await person.press("escape")
            if label == "alpha":
                await person.new_tab()
        await person.to_tab(1, "ctrl+pageup")
        await person.type("a")
        await person.sees("/rewind alpha")


async def test_a_pasted_command_says_that_a_space_makes_it_a_text(tmp_path: Path) -> None:
    hint = "Pasted as text: without the space before it, it is a command."
    async with at_the_screen(str(tmp_path)) as person:
        await person.first_tab()
        await person.idle()
        await person.writing()
        for command in ("/undo", "!date\n"):
            person.composer.post_message(events.Paste(command))
            await person.sees(hint)
            assert person.draft == f" {command}"
            await person.press("ctrl+c")
            await person.sees_no(hint)
        for text in ("undo", "/etc/hosts is a file"):
            person.composer.post_message(events.Paste(text))
            await person.until(lambda pasted=text: person.draft.strip() == pasted, "what was pasted")  # type: ignore[misc]
            await person.taken_in()
            assert "Pasted as text" not in person.text
            await person.press("ctrl+c")
        await person.type("say ")
        person.composer.post_message(events.Paste("/undo"))
        await person.until(lambda: person.draft == "say /undo", "what was pasted")
        await person.taken_in()
        assert "Pasted as text" not in person.text
