"""Asides on the screen: asked, followed up, taken along and thrown away, with real agent processes."""

from __future__ import annotations

import base64

import pytest

from catena.screens.aside.screen import AsideScreen
from catena.screens.chat.prompt import name_reading
from catena.settings.templates import find_templates, used_templates
from catena.transcript import Transcript
from catena_acp.continuity.routing.prior_context import BEGIN
from catena_store.records import Cause
from support.conversations.rehearsed import World
from support.places import ROOT
from support.screen.chain import world as world
from support.screen.pilot import Person, at_the_screen

_SHIPPED = used_templates(find_templates(ROOT / "nowhere", str(ROOT / "nowhere")))
SUMMARY, PULL_REQUEST = _SHIPPED["summary"].text, _SHIPPED["pr"].text


@pytest.fixture(autouse=True)
def _templates_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_reading, "_PATIENCE", 60)  # a key waits for them, however slow the machine is


async def begun(person: Person) -> None:
    """A conversation with one turn."""
    await person.say("say alpha")
    await person.idle()


def screen_of(person: Person) -> AsideScreen:
    assert isinstance(person.app.screen, AsideScreen)
    return person.app.screen


async def answered(person: Person, *texts: str) -> str:
    """The overlay with an answer that is whole."""
    screen = await person.sees_dialog(AsideScreen)
    await person.until(lambda: screen._since is None and not screen._aside.busy, "an end")
    return await person.sees(*texts)


async def back(person: Person) -> None:
    await person.back()


async def gone(person: Person, world: World) -> None:
    """The sessions that were asked beside the conversation are deleted upstream."""

    def sessions(method: str) -> set[str]:
        requests = world.requests(method)
        if method == "session/prompt":
            requests = [each for each in requests if any("an aside]" in block for block in each["blocks"])]
        return {each["params"]["sessionId"] for each in requests}

    await person.until(
        lambda: sessions("session/prompt") <= sessions("session/delete"), "the aside to be gone"
    )


async def test_a01_btw_answers_in_an_overlay_and_the_conversation_knows_nothing_of_it(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw context")
        await answered(person, "Side question (not saved)", "session forked", "[context]", "alpha")
        await person.press("enter")
        await person.type("say a follow-up")
        await person.press("enter")
        await answered(person, "say a follow-up", "  a follow-up")
        await person.press("escape")
        await back(person)
        await gone(person, world)
        assert "follow-up" not in person.text and "[context]" not in person.text
        await person.say("echo")
        await person.sees("users=2 assistants=1")
        assert world.prompts()[-1] == ["echo"]
        await person.idle()
        await person.press("up")
        await person.until(lambda: person.draft == "echo", "what was asked in the conversation")
        await person.say("/inputs")
        await person.sees("/btw context", "/btw say a follow-up")


async def test_a02_the_answer_is_copied_and_goes_into_the_composer_behind_what_is_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(
        "textual.drivers.headless_driver.HeadlessDriver.write", lambda _, data: sent.append(data)
    )
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw say the answer")
        await answered(person, "  the answer")
        await person.press("y")
        await person.sees("Sent the answer")
        person.composer.put("As you said:")
        await person.press("i")
        await back(person)
        await person.until(lambda: person.draft == "As you said:\n\nthe answer\n\n", "the answer behind it")
    copied = base64.b64encode(b"the answer").decode()
    assert any(copied in data for data in sent)


async def test_a02_a_summary_goes_into_a_new_file_and_never_over_another(world: World) -> None:
    (world.project / "summary.md").write_text("mine")
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/summary say short")
        await answered(person, "  short")
        assert world.prompts()[-1][-1] == f"{SUMMARY}\n\nsay short"
        await person.press("s")
        await person.sees("Saved the answer as summary-2.md")
        await person.press("escape")
        await back(person)
        await person.say("/pr")
        await answered(person, "Draft the text of a pull request")
        assert world.prompts()[-1][-1] == PULL_REQUEST
        answer = screen_of(person)._aside.text
        await person.press("s")
        await person.sees("Saved the answer as pull-request.md")
        (world.project / "pull-request-2.md").symlink_to(world.place / "elsewhere.md")
        await person.press("s")
        await person.sees("Saved the answer as pull-request-3.md")
        await person.press("escape")
        await back(person)
        await gone(person, world)
    assert (world.project / "summary.md").read_text() == "mine"
    assert (world.project / "summary-2.md").read_text() == "short\n"
    assert answer and (world.project / "pull-request.md").read_text() == answer + "\n"
    assert not (world.place / "elsewhere.md").exists()


async def test_a02_what_a_key_did_stays_to_be_read_when_the_answer_ends_and_says_if_there_will_be_more(
    world: World,
) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/summary say short; cue end")
        await person.sees_dialog(AsideScreen)
        await person.sees("  short")
        await person.press("s")
        await person.sees("Saved the answer so far as summary.md")
        world.cue("end")
        await answered(person, "Saved the answer so far as summary.md")
        await person.press("s")
        await person.sees("Saved the answer as summary-2.md")
        await person.press("escape")
        await back(person)


async def test_a02_a_summary_begins_a_new_conversation_which_is_not_sent_by_itself(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        first = person.tab
        first_draft = person.draft
        await person.say("/summary say all of it")
        await answered(person, "  all of it")
        heard = len(world.prompts())
        await person.press("n")
        await back(person)
        await person.until(lambda: person.tab is not first, "a new tab")
        await person.until(lambda: person.draft == "all of it\n\n", "the draft")
        await person.done()
        assert (
            len(person.tabs) == 2
            and person.tab.conversation.record.family != first.conversation.record.family
        )
        assert len(world.prompts()) == heard and first.draft == first_draft == ""


async def test_a04_without_a_native_fork_the_overlay_says_so_with_the_price(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_REHEARSAL_FLAGS", "--no-fork")
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw ")
        await person.sees_dialog(AsideScreen)
        await person.sees("Ask a side question (not saved)", "2 messages replayed, ~")
        assert len(world.prompts()) == 1, "the price is named before anything is asked"
        await person.type("say told")
        await person.press("enter")
        await answered(person, "cannot fork: new session · 2 messages replayed", "  told")
        assert world.prompts()[-1][0].startswith(BEGIN)


async def test_a01_what_is_refused_and_what_goes_wrong_is_read_in_the_overlay(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw edit notes.txt; escape")
        text = await answered(
            person, "tried to do more than read", "Side questions are read-only, so this was"
        )
        assert "\x1b" not in text and not person.area.panels.permission.ask
        await person.press("y", "enter")
        await person.type("/compact")
        await person.press("enter")
        await person.sees("A side question cannot be a command")
        await person.until(lambda: screen_of(person)._since is None, "the end of it")
        await person.press("enter")
        assert screen_of(person)._more.text == "/compact", "what was typed stays"
        screen_of(person)._more.put("crash")
        await person.press("enter")
        await answered(person, "was killed by signal 9")
        assert not (world.project / "notes.txt").exists()


async def test_a01_an_answer_can_be_stopped_and_esc_closes_at_any_time(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw say some; hang")
        await person.sees_dialog(AsideScreen)
        await person.sees("  some", "is answering · ")
        await person.press("enter")
        await person.type("say too early")
        await person.press("enter")
        await person.sees("Wait for this answer first")
        await person.press("ctrl+c")
        await person.until(
            lambda: screen_of(person)._since is None and not screen_of(person)._aside.busy,
            "the end of the answer",
        )
        await person.press("enter")
        await answered(person, "  too early")
        await person.press("enter")
        await person.type("hang")
        await person.press("enter")
        await world.heard("session/prompt", 4)
        await person.press("enter")
        await person.type("not asked")
        await person.press("escape", "escape")
        await back(person)
        await person.until(lambda: person.draft == "/btw not asked", "what was typed")
        await gone(person, world)
        person.composer.put("")
        await person.say("say on")
        await person.sees("  on")


async def test_a01_a_question_that_cannot_be_asked_is_back_in_the_composer(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        person.tab.conversation.lose()
        await person.say("/btw what for?")
        await person.sees("Read-only: this conversation is open in")
        await person.until(lambda: person.draft == "/btw what for?", "the question to be back")
        await back(person)
        person.composer.put("")
        await person.say("/summary of it")
        await person.until(
            lambda: person.draft == "/summary of it", "the template to be back as it was typed"
        )


async def test_a03_asides_show_in_no_list_and_leave_no_row(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw say hidden")
        await answered(person, "  hidden")
        await person.press("escape")
        await back(person)
        await gone(person, world)
        conversation = person.tab.conversation
        chain = await conversation.chain.read(conversation.window(person.tab.window_id), cap=None)
        assert [entry.link.cause for entry in chain.entries] == [Cause.NEW] and chain.folded
        assert (await person.chat.context.tabs.newest_here(10))[1] == 1
        await person.say("/chain")
        await person.sees("Sessions (1)", "internal")


@pytest.mark.parametrize("size", [(40, 10), (100, 30)])
async def test_s01_the_aside_works_by_mouse_and_in_a_small_terminal(
    world: World, size: tuple[int, int]
) -> None:
    async with at_the_screen(str(world.project), size=size) as person:
        await begun(person)
        await person.say("/btw say yes; stream 40")
        await answered(person, "Side question (not saved)")
        assert max(len(line) for line in person.text.splitlines()) <= size[0]
        transcript = screen_of(person).query_one(Transcript)
        await person.until(lambda: transcript.size.height >= 3, "room for the answer")
        await person.press("pageup", "k", "j", "pagedown")
        await person.pilot.click("#hint", offset=(22, 0))
        await person.sees("Sent the answer")


async def test_k12_an_earlier_question_of_an_aside_is_chosen_changed_and_asked_otherwise(
    world: World,
) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw say canary-one")
        await answered(person, "  canary-one")
        for question in ("say canary-two", "say canary-three"):
            await person.press("enter")
            await person.type(question)
            await person.press("enter")
            await answered(person, f"  {question.removeprefix('say ')}")
        screen = screen_of(person)
        await person.press("e")
        await person.sees("enter ask again")
        await person.press("escape")
        await person.sees("e edit")

        # Looked at and left: nothing is changed, and nothing is left in the composer.
        await person.press("e", "e", "enter")
        await person.until(lambda: screen._more.text == "say canary-two", "the question in the composer")
        await person.sees("Later answers are dropped; 2 messages replayed", "enter ask instead")
        heard = len(world.prompts())
        await person.press("escape")
        await person.sees("e edit", "  canary-three")
        assert (screen._more.text, len(world.prompts())) == ("", heard)

        await person.press("e", "k", "enter")
        await person.type(" and more")
        await person.press("enter")
        await answered(person, "side question: 2 messages replayed", "  canary-two and more")
        await person.sees_no("canary-three")
        assert "  canary-one" in person.text
        await person.press("escape")
        await back(person)
        await gone(person, world)


async def test_k12_a_command_in_place_of_a_question_takes_nothing_back(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw say canary")
        await answered(person, "  canary")
        await person.press("e", "enter")
        screen_of(person)._more.put("/compact")
        await person.press("enter")
        await person.sees("A side question cannot be a command", "  canary")
        await person.until(lambda: screen_of(person)._since is None, "the end of it")
        await person.press("enter")
        await person.sees("enter ask instead")
        screen_of(person)._more.put("say better")
        await person.press("enter")
        await answered(person, "  better")
        await person.sees_no("canary")


async def test_s01_the_pointer_finds_the_one_button_that_does_something_on_a_question(world: World) -> None:
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw say canary")
        await answered(person, "  canary")
        screen = screen_of(person)
        rows = person.text.splitlines()
        y = next(number for number, row in enumerate(rows) if "say canary" in row)
        await person.pilot.hover(offset=(6, y))
        await person.sees(" edit")
        row = person.text.splitlines()[y]
        assert "again" not in row and "fork" not in row
        await person.pilot.click(offset=(row.index("edit") + 1, y))
        await person.until(lambda: screen._more.text == "say canary", "the question in the composer")


def test_a02_the_fixed_prompts_are_written_down() -> None:
    written = " ".join((ROOT / "docs" / "asides.md").read_text().replace("> ", "").split())
    assert SUMMARY in written and PULL_REQUEST in written


async def test_w04_a_side_question_brings_the_files_that_it_mentions(world: World) -> None:
    (world.project / "notes.md").write_text("mind the gap\n")
    async with at_the_screen(str(world.project)) as person:
        await begun(person)
        await person.say("/btw say no @notes.md:7")
        await answered(person, "notes.md has no lines 7-7.")
        assert screen_of(person)._more.text == "say no @notes.md:7"
        await person.press("ctrl+u")
        await person.type("say look @notes.md ")
        await person.press("enter")
        await answered(person, "look @notes.md")
        (question, *_) = screen_of(person)._aside.rows
        assert [each["name"] for each in question.data["attachments"]] == ["@notes.md"]
        await person.press("escape")
        await back(person)
        sent = [each for each in world.requests("session/prompt") if "say look @notes.md" in each["blocks"]]
        assert [each["kinds"][-1] != "text" for each in sent] == [True]
