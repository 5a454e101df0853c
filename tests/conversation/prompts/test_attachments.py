"""Files and images that go with prompts: kept whole, kept with the text wherever that goes. Sections W05, R12."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from catena_acp.continuity.conversation_events import Doing, DoingChanged, PromptReturned
from catena_acp.continuity.sending.prompt_blocks import prompt_blocks
from catena_acp.port.abilities import Abilities
from catena_acp.port.session_events import AudioBlock, FileBlock, ImageBlock, LinkBlock, TextBlock
from catena_acp.protocol.request_parameters import content_block
from catena_store.conversations import conversations
from catena_store.errors import NotAttachable
from catena_store.records import Attachment, Kind, MessageState
from catena_store.windows import attachments, queue, windows
from catena_store.windows.attached_files import MOST_BYTES, from_bytes, mime_of, read_file
from support.clients.command_line import Catena, run
from support.conversations.rehearsed import Desk, World
from support.storage.rows import new_conversation, say, store

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NOTES = from_bytes(b"mind the gap\n", "notes.txt", path="/work/notes.txt")
PICTURE = from_bytes(PIXEL, "photo.png", path="/work/photo.png")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize(
    ("content", "name", "mime"),
    [
        (PIXEL, "photo.png", "image/png"),
        (PIXEL, "photo.txt", "image/png"),
        (b"\xff\xd8\xff\xe0....", "x", "image/jpeg"),
        (b"RIFF....WEBPVP8 ", "x.bin", "image/webp"),
        (b"%PDF-1.7", "paper", "application/pdf"),
        (b"PK\x03\x04....", "book.ods", "application/vnd.oasis.opendocument.spreadsheet"),
        (b"PK\x03\x04....", "photo.png", "application/zip"),
        (b"print('x')\n", "run.py", "text/x-python"),
        (b'{"a": 1}', "a.json", "application/json"),
        (b"<svg/>", "a.svg", "image/svg+xml"),
        ("größer\n".encode(), "notes", "text/plain"),
        (b"not a picture", "photo.png", "text/plain"),
        (b"\x00\x01\x02", "photo.png", "application/octet-stream"),
        (b"", "empty", "text/plain"),
    ],
)
def test_w05_what_a_file_is_is_seen_by_its_bytes_before_its_name(
    content: bytes, name: str, mime: str
) -> None:
    assert mime_of(content, name) == mime


def test_w05_a_file_is_read_whole_and_what_cannot_be_attached_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a note.txt").write_text("hello")
    found = read_file("~/a note.txt")
    assert (found.name, found.mime, found.content) == ("a note.txt", "text/plain", b"hello")
    assert read_file("a note.txt", directory=str(tmp_path)) == found
    assert found.path == str(tmp_path / "a note.txt")
    with pytest.raises(NotAttachable, match="File not found: nothing"):
        read_file("nothing", directory=str(tmp_path))
    with pytest.raises(NotAttachable, match="is a directory; only files"):
        read_file(str(tmp_path))
    with pytest.raises(NotAttachable, match="not a regular file"):
        read_file("/dev/null")
    with pytest.raises(NotAttachable, match="cannot be read"):
        read_file("a\0b", directory=str(tmp_path))
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(MOST_BYTES + 1)
    with pytest.raises(NotAttachable, match=r"10\.0 MB; the limit is 10 MB.* Write its path"):
        read_file("~/huge")


def abilities(*, image: bool = False, audio: bool = False, embedded_context: bool = False) -> Abilities:
    return Abilities(
        name="",
        title="",
        version="",
        protocol_version=1,
        image=image,
        audio=audio,
        embedded_context=embedded_context,
    )


def test_w05_blocks_are_what_the_agent_takes_and_nothing_is_left_out() -> None:
    files: Sequence[Attachment] = (PICTURE, NOTES, from_bytes(b"\x00\x01", "a.bin", path="/w/ä b.bin"))
    links = [
        LinkBlock("file:///work/photo.png", "photo.png"),
        LinkBlock("file:///work/notes.txt", "notes.txt"),
        LinkBlock("file:///w/%C3%A4%20b.bin", "a.bin"),
    ]
    picture = ImageBlock(PIXEL, "image/png")
    text = FileBlock("file:///work/notes.txt", "text/plain", "mind the gap\n")
    assert prompt_blocks("look", files, abilities()) == [TextBlock("look"), *links]
    assert prompt_blocks("look", files, abilities(image=True))[1:] == [picture, *links[1:]]
    both = prompt_blocks("look", files, abilities(image=True, embedded_context=True))
    assert both[1:] == [picture, text, links[2]]
    long = from_bytes(b"a line\n" * 50_000, "long.log", path="/w/long.log")
    assert prompt_blocks("", [long], abilities(embedded_context=True))[1:] == [
        LinkBlock("file:///w/long.log", "long.log")
    ]


def test_w05_a_sound_goes_as_one_where_the_agent_listens_and_else_by_its_path() -> None:
    wave = b"RIFF\x24\x00\x00\x00WAVEfmt "
    sound = from_bytes(wave, "note.wav", path="/work/note.wav")
    link = LinkBlock("file:///work/note.wav", "note.wav")
    assert prompt_blocks("hear", [sound], abilities(audio=True))[1:] == [AudioBlock(wave, "audio/wav")]
    assert prompt_blocks("hear", [sound], abilities(image=True, embedded_context=True))[1:] == [link]


def test_w05_an_image_without_a_path_is_told_of_in_words_where_the_agent_takes_none() -> None:
    pasted = from_bytes(PIXEL, "image-1.png")
    (_, told) = prompt_blocks("look", [pasted], abilities())
    assert isinstance(told, TextBlock) and "image-1.png (image/png)" in told.text
    assert prompt_blocks("look", [pasted], abilities(image=True))[1:] == [ImageBlock(PIXEL, "image/png")]
    (_, whole) = prompt_blocks("look", [pasted], abilities(embedded_context=True))
    assert whole == FileBlock("attachment:image-1.png", "image/png", PIXEL)


def test_w05_a_file_goes_on_the_wire_as_text_where_it_is_one_and_else_as_bytes() -> None:
    text = content_block(FileBlock("file:///a", "text/plain", "mind \ud800 the gap"))
    data = content_block(FileBlock("file:///b", "image/x", b"\x00\x01"))
    assert text.model_dump(mode="json", by_alias=True, exclude_none=True) == {
        "type": "resource",
        "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "mind \ufffd the gap"},
    }
    assert data.model_dump(mode="json", by_alias=True, exclude_none=True) == {
        "type": "resource",
        "resource": {"uri": "file:///b", "mimeType": "image/x", "blob": "AAE="},
    }


def test_w05_catena_run_attaches_files_and_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    (catena.project / "notes.txt").write_text("mind the gap")
    (catena.project / "photo.png").write_bytes(PIXEL)
    answered = run(catena, "--json", "context", "--attach", "notes.txt", "--attach", "photo.png")
    assert answered.status == 0 and "mind the gap" in answered.out
    prompt = next(event for event in answered.events if event["event"] == "message")
    assert [each["name"] for each in prompt["attachments"]] == ["notes.txt", "photo.png"]
    shown = catena("show", answered.event("conversation")["id"])
    assert "▌ context\n▌ + notes.txt\n▌ + photo.png\n" in shown.out
    refused = run(catena, "hello", "--attach", "nothing.txt")
    assert refused.status == 2 and "File not found: nothing.txt" in refused.err


async def test_w05_a_draft_keeps_its_attachments_on_its_leaf_and_takes_them_along(tmp_path: Path) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx, "c1")
        await windows.open(tx, id="w", conversation_id="c1", leaf_id=None)
        await attachments.set_draft(tx, "w", [PICTURE, NOTES])
        assert await attachments.of_draft(tx, "w") == [PICTURE, NOTES]
        assert not await conversations.delete_if_empty(tx, "c1")
        await say(tx, "m1", None, "hello", conversation="c1")
        await windows.advance(tx, "w", "m1")
        assert await attachments.of_draft(tx, "w") == [PICTURE, NOTES]
        await windows.set_leaf(tx, "w", None)
        assert await attachments.of_draft(tx, "w") == []
        await windows.set_leaf(tx, "w", "m1")
        await attachments.set_draft(tx, "w", [NOTES])
        assert await attachments.of_draft(tx, "w") == [NOTES]


async def test_w05_an_empty_conversation_goes_without_a_trace_of_what_was_attached_and_taken_off(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as db, db.write() as tx:
        await new_conversation(tx, "c1")
        await windows.open(tx, id="w", conversation_id="c1", leaf_id=None)
        await queue.add(tx, id="q", window_id="w", text="wait")
        await attachments.add_to_queue_item(tx, "q", [NOTES])
        await queue.remove(tx, "q")
        await attachments.set_draft(tx, "w", [PICTURE])
        await windows.close(tx, "w")
        assert await conversations.delete_if_empty(tx, "c1")
        for table in ("attachment", "queue_attachment", "draft_attachment"):
            assert await tx.one(f"SELECT count(*) FROM {table}") == (0,)


async def kept(desk: Desk, message_id: str) -> list[Attachment]:
    async with desk.db.read() as reader:
        return await attachments.of_message(reader, message_id)


def kinds(world: World) -> list[list[str]]:
    return [entry["kinds"] for entry in world.requests("session/prompt")]


async def test_w05_a_prompt_goes_out_with_its_files_and_keeps_them(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("say seen", [PICTURE, NOTES])
        await desk.window.wait_idle()
        prompt = next(row for row in await desk.branch() if row.kind is Kind.USER)
        assert await kept(desk, prompt.id) == [PICTURE, NOTES]
        names: list[Any] = [entry["name"] for entry in prompt.data["attachments"]]
        assert names == ["photo.png", "notes.txt"]
        await desk.say("echo")
        assert "mind the gap" in (await desk.branch())[-1].text
    assert kinds(world) == [["text", "image", "resource"], ["text"]]
    # What was attached is no reason to distrust the session when it is looked at again.
    async with world.client(resume=desk) as again:
        over = await again.say("say more")
        assert over.turn is not None and over.turn.prior_context is None


async def test_w05_another_session_is_told_the_names_of_what_was_attached(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("say seen", [PICTURE])
        await desk.window.wait_idle()
    world.fail({"load": {"error": [-32002, "Resource not found"]}})
    async with world.client(resume=desk) as again:
        await again.say("say more")
    assert "(photo.png was attached, and is not repeated here.)" in world.prompts()[-1][0]


async def test_w05_a_waiting_prompt_keeps_its_files_through_a_restart_and_takes_them_along(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.window.say("say busy; hang")
        await desk.until_told(DoingChanged, lambda news: news.doing is Doing.WORKING)
        await desk.window.say("say seen", [PICTURE, NOTES])
        async with desk.db.read() as reader:
            (item,) = await queue.items(reader, desk.window_id)
        assert item.attachments == ("photo.png", "notes.txt")
    async with world.client(resume=desk) as again:
        await again.window.send_queued()
        await again.window.wait_idle()
        prompt = next(row for row in reversed(await again.branch()) if row.kind is Kind.USER)
        assert await kept(again, prompt.id) == [PICTURE, NOTES]
        async with again.db.read() as reader:
            assert await reader.one("SELECT count(*) FROM queue_attachment") == (0,)
    assert kinds(world)[-1][-2:] == ["image", "resource"]


async def test_r12_a_prompt_that_is_taken_back_brings_its_files_into_the_draft(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("say busy; hang")
        await desk.until_told(DoingChanged, lambda news: news.doing is Doing.WORKING)
        await desk.window.say("say seen", [NOTES])
        async with desk.db.read() as reader:
            (item,) = await queue.items(reader, desk.window_id)
        await desk.window.queue.restore(item.id)
        returned = await desk.until_told(PromptReturned)
        assert (returned.text, returned.attachments) == ("say seen", (NOTES,))
        async with desk.db.read() as reader:
            assert await attachments.of_draft(reader, desk.window_id) == [NOTES]
            assert await queue.items(reader, desk.window_id) == []


@pytest.mark.parametrize(
    "faults",
    [
        {"new": {"error": [-32000, "Please log in"]}},
        {"prompt": {"error": [-32603, "no"]}},
        {"initialize": {"exit": 3}},
    ],
    ids=["a login", "refusals", "an agent that ends"],
)
async def test_r12_files_come_back_with_a_prompt_that_nobody_takes_and_go_out_with_it_again(
    world: World, faults: dict[str, Any]
) -> None:
    world.fail(faults)
    async with world.client() as desk:
        await desk.window.say("say seen", [PICTURE])
        await desk.window.wait_idle()
        returned = await desk.until_told(PromptReturned)
        assert (returned.text, returned.attachments) == ("say seen", (PICTURE,))
        async with desk.db.read() as reader:
            assert await attachments.of_draft(reader, desk.window_id) == [PICTURE]
        world.fail({})
        await desk.window.say("say seen")
        await desk.window.wait_idle()
        await desk.window.say("say seen", returned.attachments)
        await desk.window.wait_idle()
        prompts = [row for row in await desk.branch() if row.kind is Kind.USER]
        assert [len(await kept(desk, row.id)) for row in prompts] == [0, 1]
        assert all(row.state is MessageState.FINAL for row in prompts)
        async with desk.db.read() as reader:
            assert await attachments.of_draft(reader, desk.window_id) == []


async def test_w05_a_prompt_that_is_tried_again_has_its_files_again(world: World) -> None:
    async with world.client() as desk:
        await desk.window.say("say seen", [PICTURE])
        await desk.window.wait_idle()
        first = next(row for row in await desk.branch() if row.kind is Kind.USER)
        await desk.window.retry()
        await desk.window.wait_idle()
        second = next(row for row in await desk.branch() if row.kind is Kind.USER)
        assert second.id != first.id and await kept(desk, second.id) == [PICTURE]
    assert kinds(world) == [["text", "image"], ["text", "image"]]
