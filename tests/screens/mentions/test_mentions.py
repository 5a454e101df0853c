"""Mentions in the composer: offered, taken, sent as the agent takes them, and kept. Sections W04 and W05."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from catena.screens.chat.prompt import completions
from catena.settings.settings import Settings
from catena.settings.tables import AgentSetting
from support.clients.protocol import heard, spec
from support.screen.pilot import Person, at_the_screen

EMBEDS = """
CAPABILITIES["promptCapabilities"] = {"image": True, "embeddedContext": True}
"""
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6364f8cf500f00030601"
    "805a347d6b0000000049454e44ae426082"
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    shop = tmp_path / "shop"
    (shop / "src").mkdir(parents=True)
    (shop / "src/app.py").write_text("".join(f"line {number}\n" for number in range(1, 31)))
    (shop / "my notes.md").write_text("mind the gap\n")
    (shop / "photo.png").write_bytes(PIXEL)
    (shop / "data.bin").write_bytes(b"\0\1\2")
    (shop / "long.log").write_text("a line\n" * 50_000)
    return shop


@pytest.fixture(autouse=True)
def _files_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions, "_PATIENCE", 60)  # a key waits for them, however slow the machine is


def prompts(place: Path) -> list[list[dict[str, Any]]]:
    """The blocks of every prompt that the agent heard."""
    return [request["params"]["prompt"] for request in heard(place, "session/prompt")]


async def says(person: Person, text: str) -> None:
    person.composer.put(text)
    await person.taken_in()
    if person.area.prompt.completion.is_open:
        await person.press("escape")
    before = person.tab.leaf_id
    await person.press("enter")
    await person.until(lambda: person.tab.leaf_id != before and person.is_over(person.tab), "the answer")


async def test_w04_an_at_offers_files_and_what_is_taken_goes_with_the_prompt_as_text(
    tmp_path: Path, shop: Path
) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path, EMBEDS)) as person:
        await person.type("see @ap")
        screen = await person.sees("app.py", "src", "choose")
        assert "▌ app.py" in screen.replace("▌app", "▌ app")
        await person.press("enter")
        assert person.draft == "see @src/app.py "
        assert not prompts(tmp_path)
        await person.type("please")
        await person.press("enter")
        await person.sees("you said see @src/app.py please")
        await person.idle()
    (said,) = prompts(tmp_path)
    app = shop / "src/app.py"
    assert [block["type"] for block in said] == ["text", "resource"]
    assert said[1]["resource"]["uri"] == app.as_uri()
    assert said[1]["resource"]["text"] == app.read_text()


async def test_w04_everything_is_sent_as_the_agent_takes_it(tmp_path: Path, shop: Path) -> None:
    (shop / "wide.txt").write_text("x" * 300_000 + "\nlast\n")
    text = '@src/app.py:2-3 @wide.txt:1-2 @wide.txt:2 @"my notes.md" @photo.png @data.bin @long.log @src/'
    text += " @nobody me@example.org"
    async with at_the_screen(str(shop), agent=spec(tmp_path, EMBEDS)) as person:
        await says(person, text)
    (said,) = prompts(tmp_path)
    assert said[0]["text"] == text
    kinds = [block["type"] for block in said[1:]]
    assert kinds == ["resource", "resource_link", "resource", "resource", "image", *["resource_link"] * 3]
    assert said[1]["resource"]["text"] == "line 2\nline 3\n"
    assert said[1]["resource"]["uri"] == (shop / "src/app.py").as_uri() + "#L2-L3"
    assert said[2]["uri"] == (shop / "wide.txt").as_uri() + "#L1-L2", "too long to go along"
    assert said[3]["resource"]["text"] == "last\n"
    assert [(block["uri"], block["name"]) for block in said[6:]] == [
        ((shop / name).as_uri(), name if name != "src" else "src/")
        for name in ("data.bin", "long.log", "src")
    ]


async def test_w04_an_agent_that_takes_no_resources_gets_links(tmp_path: Path, shop: Path) -> None:
    nothing = 'CAPABILITIES["promptCapabilities"] = {}'
    async with at_the_screen(str(shop), agent=spec(tmp_path, nothing)) as person:
        await says(person, "@src/app.py:7, and @photo.png.")
    (said,) = prompts(tmp_path)
    assert [(block["type"], block["uri"], block["name"]) for block in said[1:]] == [
        ("resource_link", (shop / "src/app.py").as_uri() + "#L7", "src/app.py:7"),
        ("resource_link", (shop / "photo.png").as_uri(), "photo.png"),
    ]


async def test_w04_no_mention_leads_out_of_the_directories_and_a_backslash_makes_text(
    tmp_path: Path, shop: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    (shop / "out").symlink_to(secret)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/tool.py").write_text("pass\n")
    text = rf"@../secret @out @~/x @{secret} \@src/app.py @{tmp_path}/lib/tool.py"
    further = (str(tmp_path / "lib"),)
    async with at_the_screen(str(shop), agent=spec(tmp_path, EMBEDS), further_directories=further) as person:
        await says(person, text)
    (said,) = prompts(tmp_path)
    assert said[0]["text"] == text.replace("\\", "")
    assert [block["resource"]["uri"] for block in said[1:]] == [(tmp_path / "lib/tool.py").as_uri()]


async def test_w04_what_cannot_be_read_is_said_and_the_text_kept(tmp_path: Path, shop: Path) -> None:
    os.mkfifo(shop / "pipe")
    async with at_the_screen(str(shop), agent=spec(tmp_path, EMBEDS)) as person:
        await person.say("what is in @pipe?")
        await person.sees("pipe is not a regular file")
        assert person.draft == "what is in @pipe?"
        person.composer.put("")
        await person.type("see @data")
        await person.press("tab")
        assert person.draft == "see @data.bin "
        (shop / "data.bin").unlink()
        await person.press("enter")
        await person.sees("File not found: data.bin")
        assert person.draft == "see @data.bin"
        await person.say("lines of @src/app.py:99-100")
        await person.sees("src/app.py has no lines 99-100")
        assert person.draft == "lines of @src/app.py:99-100"
    assert not prompts(tmp_path)


async def test_w05_mentions_are_kept_on_edit_queue_retry_and_restart(tmp_path: Path, shop: Path) -> None:
    agent = spec(tmp_path, EMBEDS)
    async with at_the_screen(str(shop), agent=agent) as person:
        await says(person, "see @src/app.py:1")
        assert "+ @src/app.py:1" in person.text
        prompt = person.transcript.prompt_above(None)
        assert prompt is not None
        (shop / "src/app.py").unlink()
        await person.tab.window.retry()
        await person.idle()
        conversation_id = person.tab.conversation.id
    known = Settings(agents={"scripted": AgentSetting("scripted", agent.command, env=agent.env)})
    async with at_the_screen(str(shop), conversation_id=conversation_id, settings=known) as person:
        await person.until(lambda: person.tab.session and person.tab.session.agent_title, "its session")
        await person.escape_twice()
        await person.press("enter")
        await person.sees("Edit")
        assert "✕" not in person.text, "the text says it already"
        assert person.draft == "see @src/app.py:1"
        await person.type("!")
        await person.press("enter")
        await person.sees("you said see @src/app.py:1!")
        await person.idle()
    texts = [[block["resource"]["text"] for block in said[-1:]] for said in prompts(tmp_path)]
    assert texts == [["line 1\n"]] * 3


async def test_w05_a_prompt_that_waits_keeps_what_it_mentioned_when_it_was_typed(
    tmp_path: Path, shop: Path
) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path, EMBEDS)) as person:
        await says(person, "before")
        async with person.agent_held():
            await person.say("first")
            await person.until(lambda: person.tab.busy, "the turn")
            await person.say("@src/app.py:1 second")
            await person.until(lambda: person.tab.queue, "it to wait")
            assert person.tab.queue[0].attachments == ("@src/app.py:1",)
            (shop / "src/app.py").write_text("other\n")
        await person.sees("you said @src/app.py:1 second")
        await person.idle()
    assert prompts(tmp_path)[-1][1]["resource"]["text"] == "line 1\n"


async def test_w04_the_popup_goes_into_directories_and_quotes_blanks(tmp_path: Path, shop: Path) -> None:
    async with at_the_screen(str(shop), size=(40, 10), agent=spec(tmp_path)) as person:
        await person.type("@sr")
        await person.sees("src/")
        await person.press("tab")
        assert person.draft == "@src/"
        await person.sees("app.py")
        await person.press("tab")
        assert person.draft == "@src/app.py "
        await person.type("@notes")
        await person.press("tab")
        assert person.draft == '@src/app.py @"my notes.md" '
        await person.type("me@app")
        await person.taken_in()
        assert not person.area.prompt.completion.is_open
        await person.press("escape")
        await person.type(" @pho")
        await person.sees("photo.png")
        await person.press("escape")
        await person.sees_no("photo.png")
        await person.press(*["left"] * 2, "x")
        await person.taken_in()
        assert not person.area.prompt.completion.is_open


async def test_w04_files_are_looked_for_once_in_a_mention_and_again_in_the_next(
    tmp_path: Path, shop: Path
) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path)) as person:
        await person.type("@brand_n")
        index = person.area.prompt.mentions._index
        assert index is not None
        await person.until(lambda: index.scans == 1, "the files")
        assert not person.area.prompt.completion.is_open
        (shop / "brand_new.py").write_text("")
        await person.type("ew")
        await person.taken_in()
        assert index.scans == 1 and not person.area.prompt.completion.is_open
        await person.type(" @brand_n")
        await person.sees("brand_new.py")
        assert index.scans == 2
        await person.press("enter")
        assert person.draft == "@brand_new @brand_new.py "


async def test_w04_a_click_takes_a_file_and_its_letters_are_bold(tmp_path: Path, shop: Path) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path)) as person:
        await person.type("@")
        listed = person.area.prompt.completion.list
        await person.until(lambda: len(listed.rows) >= 5, "the files")
        await person.type("src/app")
        await person.press("backspace", "backspace", "backspace", "a")
        row = next(row for row in listed.rows if row.key == "file:src/app.py")
        assert (row.label, row.note, sorted(row.found), sorted(row.note_found)) == ("app.py", "src", [0], [])
        await person.pilot.click(listed, offset=(4, list(listed.rows).index(row)))
        await person.taken_in()
        assert person.draft == "@src/app.py "


async def test_w04_letters_at_once_are_completed_to_what_they_mean(tmp_path: Path, shop: Path) -> None:
    async with at_the_screen(str(shop), agent=spec(tmp_path)) as person:
        await person.writing()
        await person.type_at_once("@app")
        await person.press("tab")
        assert person.draft == "@src/app.py "
