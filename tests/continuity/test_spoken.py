"""What a message is as a value: its kind, its words and its blocks, whatever its row holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from catena.rendering.markdown import MarkdownRenderer
from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.model.entry import Entry
from catena.transcript.model.source import searchable_text
from catena_acp.continuity.sessions.opening import greeting_text
from catena_acp.continuity.turns.reducer import Insert, Reducer
from catena_acp.port.session_events import NoticeReported
from catena_acp.spoken.blocks import Markdown, OutputBlock, Picture, PlanStep, Reference, Steps
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import (
    Answer,
    AskedNotice,
    Attached,
    Divider,
    Ended,
    Notice,
    Plan,
    Prompt,
    Seam,
    Spoken,
    Thought,
    Unknown,
    ended_in,
    images_of,
    spoken_of,
)
from catena_store.records import Kind, Message, MessageState

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
IMAGE = {"sha256": "ab", "mime": "image/png", "bytes": 5}


def row(of: Kind, /, text: str = "", state: MessageState = MessageState.FINAL, **data: Any) -> Message:
    return Message("m", "c", None, None, of, state, text, data, None, None, False, 0, NOW)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (row(Kind.USER, "hello"), Prompt("hello")),
        (
            row(Kind.USER, "look", MessageState.REFUSED, attachments=[{"name": "a.txt", "size": 3}, "b"]),
            Prompt("look", (Attached("a.txt", 3), Attached("b")), refused=True),
        ),
        (row(Kind.AGENT, "so", MessageState.INTERRUPTED), Answer("so", interrupted=True)),
        (row(Kind.THOUGHT, "hm", words=True), Thought("hm", words=True)),
        (
            row(Kind.TOOL, title="Run ls", kind="execute"),
            Call({"title": "Run ls", "kind": "execute"}, state=MessageState.FINAL),
        ),
        (row(Kind.PLAN, entries=[{"text": "one"}, 7]), Plan((PlanStep("one", "pending"),))),
        (row(Kind.NOTICE, "by the way", detail="one\ntwo"), Notice("by the way", ("one", "two"))),
        (row(Kind.NOTICE, "asks", elicitation={"message": "name?"}), AskedNotice("asks", (), "name?")),
        (row(Kind.NOTICE, "gone", trouble="agent_gone"), Ended("gone", (), "agent_gone")),
        (row(Kind.NOTICE, "short", compacted="completed"), Divider("short", (), "completed")),
        (row(Kind.SEAM, cleared=True), Divider("context cleared")),
        (row(Kind.SEAM, "a · b · c", how="resumed"), Seam("a · b · c", how="resumed", drawn=False)),
    ],
)
def test_a_row_becomes_the_value_that_it_is(message: Message, said: Spoken) -> None:
    assert spoken_of(message) == said
    assert type(spoken_of(message)) is type(said)


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("value", [7, "text", ["x", 1], {"a": None}, None])
def test_a_row_that_holds_anything_can_be_shown(kind: Kind, value: object) -> None:
    names = (
        "attachments other origin steered entries detail elicitation compacted how route content rule title"
    )
    data: dict[str, Any] = dict.fromkeys(names.split(), value)
    message = row(kind, "words", **data)
    said = spoken_of(message)
    assert isinstance(said.head, str)
    assert isinstance(said.blocks, tuple)


def test_an_answer_has_its_source_and_what_is_no_text_as_blocks() -> None:
    link = {"kind": "resource_link", "description": "page", "address": "https://example.org"}
    image = {"kind": "image", "description": "a cat", "image": IMAGE}
    source, page, cat = spoken_of(row(Kind.AGENT, "*so*", other=[link, image])).blocks
    assert (source, page) == (Markdown("*so*"), Reference("resource_link", "page", "https://example.org"))
    assert isinstance(cat, Picture)
    assert [note.sha256 for note in images_of(row(Kind.AGENT, "*so*", other=[link, image]))] == ["ab"]
    assert spoken_of(row(Kind.AGENT, "[a cat]", other=[image])).blocks == (cat,), "the text only names it"


def test_the_parts_of_a_seam_a_plan_and_a_notice_are_blocks() -> None:
    assert spoken_of(row(Kind.SEAM, "a · b · c", how="told")).head == "a · b"
    assert spoken_of(row(Kind.SEAM, "a", how="told", prior_context="all")).blocks == (OutputBlock("all"),)
    assert spoken_of(row(Kind.PLAN, entries=[{"text": "x"}])).blocks == (Steps((PlanStep("x", "pending"),)),)
    assert spoken_of(row(Kind.NOTICE, "n", detail=["l"])).blocks == (OutputBlock("l"),)


def test_an_error_is_the_end_of_a_turn_in_a_notice_and_as_an_agents_only_words() -> None:
    notice = row(Kind.NOTICE, "rate limited", trouble="rate_limit", resets_at="2026-11-28T17:00:00")
    ended = ended_in(notice)
    assert ended is not None
    assert ended.resets_at == datetime(2026, 11, 28, 17, tzinfo=UTC)
    said = ended_in(row(Kind.AGENT, "429", trouble="rate_limit", means="rate limited"))
    assert said is not None
    assert (said.text, said.failed) == ("rate limited", True)
    assert ended_in(row(Kind.AGENT, "all well")) is None


@dataclass(frozen=True)
class QuotaChanged(NoticeReported):
    """A kind of notice as docs/internals/new-update.md adds one."""

    left: str = ""

    @property
    def data(self) -> dict[str, Any]:
        return {"detail": [self.left]}


def test_a_new_kind_of_notice_is_kept_with_its_facts_and_told_in_a_greeting() -> None:
    event = QuotaChanged("a fifth is left", "info", "20 %")
    (inserted,) = Reducer("c", "t", "l", None, new_id=lambda: "m", clock=lambda: NOW).reduce(event)
    assert isinstance(inserted, Insert)
    said = spoken_of(row(inserted.row.kind, inserted.row.text, **inserted.row.data))
    assert (said.head, said.blocks) == ("a fifth is left", (OutputBlock("20 %"),))
    assert greeting_text([event]) == "a fifth is left"


def test_what_no_version_knows_is_shown_with_all_that_is_there() -> None:
    message = row(cast("Kind", "hologram"), "hi \x1b[31m", size=3, by="<b>")
    said = spoken_of(message)
    assert isinstance(said, Unknown)
    assert (said.head, said.details) == ("hologram: hi \x1b[31m", "size: 3\nby: <b>")
    assert "size: 3" in searchable_text(message)
    (block,) = MarkdownRenderer()._message(message)
    assert "size: 3" in block
    assert "\x1b" not in block
    options = RenderOptions(80, Palette.plain())
    drawn = [line.shown for part in Entry(message, 0).open(options) for line in part.measure(options)]
    assert any("hologram: hi" in line for line in drawn)
    assert not any("\x1b" in line for line in drawn)
