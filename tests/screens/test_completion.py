"""The list of completions: which row Enter takes, whatever is known when."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from textual.app import ComposeResult

from catena.screens.chat.commands.table import SLASH_COMMANDS
from catena.screens.common.picker import fuzzy_match, words_match
from catena.settings.templates import Template
from catena.text.names import Fit, Fits
from catena.widgets.completion import CompletionList, completions, name_rows
from catena.widgets.composer import Composer
from catena.widgets.row_list import Row
from catena_acp.port.session_events import AgentCommand
from support.screen.pilot import at_the_screen
from support.screen.themed import ThemedApp
from support.walks.length import walks

SYLLABLES = ("re", "view", "er", "plan", "ning", "code", "mo", "del", "-", "fork", "s")


class Lists(ThemedApp):
    """Two lists: one that learns on the way, and one that knew everything at once."""

    def compose(self) -> ComposeResult:
        """Both lists."""
        yield CompletionList(SLASH_COMMANDS, id="learning")
        yield CompletionList(SLASH_COMMANDS, id="knowing")


def named(random_: random.Random) -> str:
    return "".join(random_.choices(SYLLABLES, k=random_.randint(1, 3)))


def template(name: str) -> Template:
    return Template(name, "say so")


def test_u01_a_whole_name_stands_before_a_beginning_before_a_part_whosever_the_command_is() -> None:
    agent = [AgentCommand(name, "", None) for name in ("review", "plan", "ide", "code-review")]
    own = [template("reviewer"), template("planning")]

    def keys(typed: str) -> list[str]:
        return [row.key for row in completions(typed, SLASH_COMMANDS, agent, own)]

    assert keys("/review") == ["agent:review", "template:reviewer", "agent:code-review"]
    assert keys("/plan")[:2] == ["agent:plan", "template:planning"]
    assert keys("/ide")[:2] == ["agent:ide", "own:side"]
    assert keys("/view")[:2] == ["template:reviewer", "agent:review"]


def test_u01_what_is_typed_to_the_letter_and_can_be_sent_stands_first() -> None:
    agent = [AgentCommand(name, "", None) for name in ("review", "suspend-all")]
    unwanted = Template("search", "say so", of_project=True, allowed=False)
    own = [unwanted, template("Review"), template("Model"), template("suspend")]

    def keys(typed: str) -> list[str]:
        return [row.key for row in completions(typed, SLASH_COMMANDS, agent, own)]

    assert keys("/review")[:2] == ["agent:review", "template:Review"]
    assert keys("/Review")[:2] == ["template:Review", "agent:review"]
    assert (keys("/Model")[0], keys("/model")[0]) == ("template:Model", "own:model")
    assert keys("/suspen") == ["agent:suspend-all", "template:suspend"]  # this one is hidden by Catena's
    assert keys("/search")[0] == "own:history"


def test_u01_pickers_put_a_whole_name_before_a_beginning_before_a_part() -> None:
    rows = [Row(each, each) for each in ("copilot", "pipeline", "pi", "opusplan", "opus", "gpt-opus")]
    for match in (words_match, fuzzy_match):
        assert [row.key for row in match("pi", rows)][:3] == ["pi", "pipeline", "copilot"]
        assert [row.key for row in match("opus", rows)] == ["opus", "opusplan", "gpt-opus"]
    grouped = [Row("agent-two", "Two", note="one", group="Ready"), Row("one", "One", group="Other")]
    assert [row.key for row in words_match("one", grouped)] == ["one", "agent-two"]
    assert Fits("op")("Opus")[0] is Fit.BEGINS


async def test_u01_what_arrives_later_puts_enter_where_a_pause_would_have_put_it() -> None:
    for seed in range(walks(3)):
        random_ = random.Random(seed)
        async with Lists().run_test() as pilot:
            learning = pilot.app.query_one("#learning", CompletionList)
            knowing = pilot.app.query_one("#knowing", CompletionList)
            for _ in range(40):
                agent = [AgentCommand(named(random_), "", None) for _ in range(6)]
                own = [template(named(random_)) for _ in range(6)]
                word = f"/{named(random_)}"
                for end in range(1, len(word) + 1):
                    known = random_.randint(0, 6), random_.randint(0, 6)
                    learning.offer(word[:end], agent[: known[0]], ".", own[: known[1]])
                learning.offer(word, agent, ".", own)
                knowing.offer(word, agent, ".", own)
                assert learning.is_open is knowing.is_open, word
                if not knowing.is_open:
                    continue
                assert learning.chosen == knowing.chosen, word
                learning.move(1)
                moved = learning.chosen
                learning.offer(word, [AgentCommand(word[1:], "", None), *agent], ".", own)
                assert moved is not None and learning.chosen is not None
                assert learning.chosen.key == moved.key, "a person who moved stays"
                files = [f"{named(random_)}.py" for _ in range(9)]
                learning.offer_files(files[:4], word)
                learning.offer_files(files, f"{word}v")
                learning.offer_files(list(reversed(files)), f"{word}v")
                assert learning.chosen_file == files[-1]


@pytest.mark.parametrize(
    ("typed", "first", "meant"),
    [
        ("/clear", "own:clear", True),
        ("/CLEAR", "own:clear", True),
        ("/reset", "own:clear", True),
        ("/delete", "own:delete", True),
        ("/logout", "own:login out", True),
        ("/login out", "own:login out", True),
        ("/redo", "own:undo redo", True),
        ("/editor", "own:editor", True),
        ("/hist", "own:history", True),
        ("/undo r", "own:undo r", True),
        ("/login o", "own:login o", True),
        ("/code-", "agent:code-review", True),
        ("/plann", "template:planning", True),
        ("/quest", "aside:question", True),
        # what discards is completed first
        ("/cle", "own:clear", False),
        ("/d", "own:delete", False),
        ("/rew", "own:rewind", False),
        # half an alias
        ("/res", "own:clear", False),
        ("/rest", "own:rewind", False),
        ("/logou", "own:login out", False),
        # letters inside
        ("/foo", "own:tree end", False),
        ("/go", "own:login out", False),
        ("/undoo", "own:undo redo", False),
        ("/tok", "own:history takeover", False),
        ("/istory", "own:history", False),
        ("/derev", "agent:code-review", False),
        ("/estion", "aside:question", False),
        # nothing is named
        ("/", "own:new", False),
    ],
)
async def test_u01_enter_runs_a_whole_name_or_the_beginning_of_a_listed_one_and_completes_any_other(
    typed: str, first: str, meant: bool
) -> None:
    agent = [AgentCommand("code-review", "", None)]
    own = [template("planning"), Template("question", "say so", aside="yes")]
    async with Lists().run_test() as pilot:
        offered = pilot.app.query_one("#knowing", CompletionList)
        offered.offer(typed, agent, ".", own)
        assert offered.chosen is not None
        assert (offered.chosen.key, offered.is_meant) == (first, meant)
        offered.move(1)
        assert offered.is_meant, "a person who moves to a row means it"


def test_u01_a_row_that_is_found_by_another_name_says_by_which() -> None:
    labels = {typed: completions(typed, SLASH_COMMANDS, ())[0].label for typed in ("/res", "/redo", "/cle")}
    assert labels == {"/res": "/clear = reset", "/redo": "/undo redo = redo", "/cle": "/clear"}


NAMES = ("claude-code", "codex", "half way", "other")


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("/agent", None),
        ("/agent ", ["own:agent", *(f"own:agent {each}" for each in NAMES)]),
        ("/agent c", ["own:agent c", "own:agent claude-code", "own:agent codex"]),
        ("/new CO", ["own:new CO", "own:new codex"]),
        ("/rewind half w", ["own:rewind half w", "own:rewind half way"]),
        ("/restore h", ["own:restore h", "own:restore half way"]),
        ("/files changes o", ["own:files changes o", "own:files changes other"]),
        ("/ask co", ["own:ask co", "more:ask codex"]),
        ("/ask codex cl", ["own:ask codex cl", "more:ask codex claude-code"]),
        ("/ask codex other half", ["own:ask codex other half", "more:ask codex other half way"]),
        ("/agent codex", []),
        ("/agent nosuch", []),
        ("/ask say c", []),
        ("/agent c\n", []),
        ("/model c", []),
        ("/undo c", []),
    ],
)
async def test_names_complete_behind_a_command_and_enter_takes_what_is_typed_until_a_person_moves(
    typed: str, keys: list[str] | None
) -> None:
    async with Lists().run_test() as pilot:
        offered = pilot.app.query_one("#knowing", CompletionList)
        offered.offer(typed, (), ".", (), NAMES)
        if keys is None:
            assert offered.chosen is not None and offered.chosen.key == "own:agent"
            return
        assert [row.key for row in name_rows(typed, SLASH_COMMANDS, NAMES)] == keys
        assert offered.is_open is bool(keys)
        if keys:
            assert offered.completed() == (typed.rstrip(), True) and offered.is_meant
            offered.move(1)
            several = typed.startswith("/ask")
            text = f"/{keys[1].partition(':')[2]}{' ' if several else ''}"
            assert offered.completed() == (text, not several) and offered.is_meant


def test_a_verb_that_is_not_whole_promises_nothing_where_no_word_is_taken() -> None:
    notes = {
        typed: completions(typed, SLASH_COMMANDS, ())[0].note for typed in ("/undo ", "/undo r", "/model m")
    }
    assert notes["/undo r"] == "" and notes["/undo "] and notes["/model m"]


async def test_labels_and_agents_complete_in_the_composer(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.first_tab()
        await person.idle()
        await person.say("say one")
        await person.sees("  one")
        await person.idle()
        await person.say("/checkpoint half way")
        await person.sees("Saved checkpoint “half way”")
        await person.say("say two")
        await person.sees("  two")
        await person.idle()
        await person.type("/rewind ha")
        await person.sees("/rewind half way")
        await person.press("tab")
        assert person.draft == "/rewind half way"
        await person.press("enter")
        await person.sees("Went back to “half way”.")
        await person.type("/agent reh")
        await person.sees("/agent rehearsal")
        await person.press("enter")  # what is typed, not the row below it
        await person.sees("reh: no such agent; /agent lists them.")
        await person.until(lambda: person.draft == "/agent reh", "what was typed, to be mended")


async def test_w03_a_row_without_room_for_all_of_its_words_says_so(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(80, 24)) as person:
        await person.type("/")
        text = await person.sees("/clear", "retry the last prompt …")
        assert "the transcript stays)" in text  # for which there is room


async def test_u01_a_second_enter_that_was_read_with_the_first_runs_nothing_however_late_it_is_taken(
    tmp_path: Path,
) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.until(lambda: person.tab.session and person.tab.session.commands, "the agent's commands")
        await person.type("/istory")
        await person.sees("/history")
        for _ in range(2):  # both were read before the first was taken; the list is open again for the second
            person.composer.post_message(Composer.CompletionTaken(run=True))
            await person.taken_in()
            await person.until(lambda: person.draft.startswith("/history"), "the name to be completed")
            await person.sees("enter run")
        await person.sees("This text has just come in.")
        assert person.app.screen is person.app.screen_stack[0] and person.draft.startswith("/history")
