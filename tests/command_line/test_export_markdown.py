"""Exports as Markdown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from catena.rendering.contents import Contents
from catena.rendering.markdown import MarkdownRenderer, answer_blocks
from catena_store.conversations import messages
from catena_store.exchange.exporting import select_tree
from catena_store.records import Kind, Message, MessageState, NewMessage
from support.counted_work import calls_counted, queries_counted
from support.storage.exports import AT, HOSTILE, a_head, a_message, a_part
from support.storage.rows import new_conversation, store

_GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_OURS = ("<details><summary>", "</details>", '<a id="b')


def drawn(*messages: Message, **head: Any) -> str:
    renderer = MarkdownRenderer()
    return "".join((renderer.begin(a_head(**head)), renderer.part(a_part(messages)), renderer.end()))


def headings(markdown: str) -> list[tuple[str, str]]:
    tokens = _GITHUB.parse(markdown)
    return [
        (token.tag, tokens[index + 1].content)
        for index, token in enumerate(tokens)
        if token.type == "heading_open"
    ]


def foreign_html(markdown: str) -> list[str]:
    """HTML that is not ours."""
    found = []
    for token in _GITHUB.parse(markdown):
        for each in (token, *(token.children or ())):
            if each.type == "html_block":
                found += [line for line in each.content.splitlines() if not line.startswith(_OURS)]
            elif each.type == "html_inline" and each.content not in ('<a id="b0">', "</a>"):
                found.append(each.content)
    return found


def test_h15_markdown_has_headings_answers_folds_and_seams() -> None:
    edit: dict[str, Any] = {
        "kind": "edit",
        "status": "completed",
        "locations": [{"path": "/shop/auth/views.py"}],
    }
    edit["content"] = [{"type": "diff", "path": "/shop/auth/views.py", "old": "a = 1\n", "new": "a = 2\n"}]
    text = drawn(
        a_message(Kind.USER, "The login fails. *Why*?", data={"attachments": [{"name": "a_b.png"}]}),
        a_message(Kind.THOUGHT, "hm"),
        a_message(Kind.TOOL, data=edit),
        a_message(
            Kind.AGENT,
            "# Because\n\nof `next`:\n\n```python\nx = '''```'''\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        ),
        a_message(Kind.SEAM, "rate limit · 3 messages replayed", data={"how": "told", "told_total": 3}),
        a_message(Kind.NOTICE, "The agent stopped.", data={"detail": ["one", "two"]}),
        a_message(Kind.AGENT, "half", state=MessageState.INTERRUPTED),
        title="The <login>",
        directory="/shop",
    )
    assert headings(text) == [
        ("h1", r"The \<login\>"),
        ("h2", r"1\. The login fails. \*Why\*?"),
        ("h3", "Because"),
    ]
    assert "12:00 · + a_b.png*" in text
    assert "<summary>✓ Edit · auth/views.py · +1 −1</summary>" in text
    assert "```diff\n--- auth/views.py\n+++ auth/views.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n```" in text
    assert "````python\nx = '''```'''\n````" in text
    assert "| a | b |\n|---|---|" in text
    assert "---\n\n*rate limit · 3 messages replayed*" in text
    assert "half\n\n*interrupted*" in text
    assert foreign_html(text) == []


def test_h15_an_answer_says_how_long_its_turn_took_if_that_was_long() -> None:
    answer = a_message(Kind.AGENT, "Done.", data={})
    assert "Done.\n\n*2 min 14 s*\n" in drawn(replace(answer, took=134.0))
    assert "Done.\n\n---" in drawn(replace(answer, took=4.0))


def test_h15_a_prompt_of_many_lines_is_quoted_and_one_of_code_fenced() -> None:
    assert "## 1\\. First\n\n*12:00*\n\n> First  \n> \\# second  \n" in drawn(
        a_message(Kind.USER, "First\n# second", data={})
    )
    assert "```\nFix\n    x = 1\n```" in drawn(a_message(Kind.USER, "Fix\n    x = 1", data={}))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [Kind.USER, Kind.AGENT, Kind.THOUGHT, Kind.TOOL, Kind.NOTICE, Kind.SEAM, Kind.PLAN]
            ),
            HOSTILE,
        ),
        max_size=5,
    ),
    HOSTILE,
)
def test_h15_nothing_that_anybody_wrote_becomes_html_or_ends_what_it_stands_in(
    said: list[tuple[Kind, str]], title: str
) -> None:
    text = drawn(*(a_message(kind, each) for kind, each in said), title=title, directory=title, agent=title)
    assert foreign_html(text) == []
    tops = [heading for tag, heading in headings(text) if tag in ("h1", "h2")]
    assert len(tops) == 1 + sum(kind is Kind.USER for kind, _ in said)
    # Every fold that was opened is closed, at the left edge.
    blocks = [
        token.content for token in _GITHUB.parse(text) if token.type == "html_block" and not token.level
    ]
    assert sum("<details>" in each for each in blocks) == sum("</details>" in each for each in blocks)
    assert text.rstrip().endswith("*") and "Exported by Catena" in _GITHUB.parse(text)[-2].content


def test_h15_what_stands_in_the_blocks_of_an_answer_is_not_read_for_an_export() -> None:
    def read(words: int) -> int:
        line = "so **much** was [said](x) of *it* " * words
        list(answer_blocks("Warm"))
        with calls_counted() as calls:
            list(answer_blocks(f"A {line}\n\n1. {line}\n2. {line}\n\n## {line}\n\n| a |\n|--|\n| {line} |\n"))
        return calls.made

    read(1)
    assert read(12) < 2 * read(1)


async def test_h15_short_passages_of_an_export_are_read_together(tmp_path: Path) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await new_conversation(tx, "c1")
            above: str | None = None
            for number in range(200):
                for kind, id in ((Kind.USER, f"u{number}"), (Kind.AGENT, f"a{number}")):
                    await messages.insert(tx, NewMessage(id, "c1", above, kind, f"It is {id}."))
                    above = id
        async with db.read() as reader:
            selected = await select_tree(reader, "c1")
            contents = Contents(reader, selected, titles=lambda *_: None, exported_at=AT, mask=None)
            await contents.head()
            async with queries_counted(db) as queries:
                parts = [part async for part in contents.parts()]
    assert [row.id for part in parts for row in part.messages][::399] == ["u0", "a199"] and len(parts) == 200
    assert len(queries.asked) < 10


def test_w28_what_a_subagent_said_and_did_opens_below_its_call() -> None:
    inside = {"subagent_of": "task"}
    task = {"kind": "think", "title": "Explore", "status": "completed", "raw_input": {"subagent_type": "x"}}
    text = drawn(
        a_message(Kind.USER, "Look."),
        replace(a_message(Kind.TOOL, data=task), agent_message_id="task"),
        a_message(Kind.AGENT, "Meanwhile."),
        a_message(Kind.TOOL, data={"kind": "read", "title": "Read a.py", "status": "completed"} | inside),
        a_message(Kind.THOUGHT, "It is in a.py. <b>", data={"words": True} | inside),
    )
    task_at, inner, answer = (text.index(each) for each in ("✓ Task", "Read · a", "Meanwhile"))
    assert task_at < inner < answer
    assert "<summary>✓ Task · Explore · 1 call</summary>" in text
    assert text.index("It is in a.py.") < text.index("</details>") < answer
    assert not foreign_html(text)


def test_w07_a_change_that_was_not_made_says_so_and_one_without_a_line_says_why() -> None:
    edit: dict[str, Any] = {"kind": "edit", "status": "rejected"}
    edit["content"] = [{"type": "diff", "path": "/shop/a_b.py", "old": "a = 1\n", "new": "a = 2\n"}]
    shown = drawn(a_message(Kind.TOOL, "", data=edit))
    assert "Not made: " in shown and shown.index("Not made: ") < shown.index("+a = 2")
    edit["status"] = "completed"
    assert "Not made: " not in drawn(a_message(Kind.TOOL, "", data=edit))
    for old, new, words in (
        ("a\n", None, "not a text file"),
        (None, "", "new, empty file"),
        ("a", "a", "no difference"),
    ):
        edit["content"] = [{"type": "diff", "path": "/shop/a_b.py", "old": old, "new": new}]
        assert words in drawn(a_message(Kind.TOOL, "", data=edit))
