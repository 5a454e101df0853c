"""Transcripts of other tools, as the real programs wrote them: heads, messages, and what is no message."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from catena_acp.context_markers import BEGIN, END
from catena_acp.transcripts.claude import encoded_directory
from catena_acp.transcripts.lines import UnreadableTranscript
from catena_acp.transcripts.session import ForeignTranscript, ForeignTurn
from catena_acp.transcripts.sources import SourcePlace, places, read_file, read_session, tool_of_file
from catena_store.records import Kind, MessageState, StopReason
from support.transcripts.homes import (
    CLAUDE,
    CLAUDE_FORK,
    CODEX,
    CODEX_FORK,
    CODEX_REVIEW,
    GEMINI,
    OPENCODE,
    OPENCODE_FORK,
    PROJECT,
    QWEN,
    SAMPLES,
    Home,
    said,
)

PROMPTS = ["hello one", "TOOLWRITE", "TOOLSHELL", "THINK"]


def prompts(transcript: ForeignTranscript) -> list[str]:
    return [turn.prompt.text for turn in transcript.turns if turn.prompt]


def shape(turn: ForeignTurn) -> list[str]:
    return [row.kind.value for row in turn.rows]


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/home/user/shop", "-home-user-shop"),
        ("/srv/a b.c", "-srv-a-b-c"),
        ("/srv/naïve-漢字", "-srv-na-ve---"),
        ("/srv/emoji-🐈‍⬛-x", "-srv-emoji------x"),
        ("/srv/dots..and__under", "-srv-dots--and--under"),
        ("/" + 199 * "x", "-" + 199 * "x"),
        ("/home/user/" + 120 * "x" + "/" + 120 * "y", "-home-user-" + 120 * "x" + "-" + 68 * "y" + "-uxlkok"),
    ],
)
def test_h05_a_directory_is_encoded_as_claude_does(cwd: str, folder: str) -> None:
    assert encoded_directory(cwd) == folder


def test_h05_the_hash_of_a_long_directory_is_claude_s() -> None:
    assert encoded_directory("/home/user/" + "/".join(["long.dir_" * 9] * 4)).endswith("-7hd9c0")


def test_h04_every_tool_s_sessions_are_found_with_their_heads(tmp_path: Path) -> None:
    found = Home(tmp_path).with_all().sessions()
    assert CODEX_REVIEW not in found  # a review by a subagent is no conversation
    assert {
        id: (each.source, each.cwd, each.first_prompt, each.last_prompt) for id, each in found.items()
    } == {
        CLAUDE: ("claude", PROJECT, "hello one", "bye"),
        CLAUDE_FORK: ("claude", PROJECT, "hello one", "/context"),
        CODEX: ("codex", PROJECT, "hello one", "bye"),
        CODEX_FORK: ("codex", PROJECT, "hello one", "hello one"),
        GEMINI: ("gemini", PROJECT, "hello one", "bye"),
        QWEN: ("qwen", PROJECT, "hello one", "bye"),
        OPENCODE: ("opencode", PROJECT, "hello one", "bye"),
        OPENCODE_FORK: ("opencode", PROJECT, "hello one", "THINK"),
    }
    assert found[CLAUDE_FORK].title == "hello one (fork)"
    assert found[CLAUDE_FORK].forked_from == CLAUDE
    assert found[CODEX_FORK].forked_from == CODEX
    assert found[OPENCODE].messages == 12
    times = {str(each.created_at)[:16] for each in found.values()}
    assert times == {"2026-11-23 17:10"}


@pytest.mark.parametrize("session_id", [CLAUDE, CODEX, GEMINI, QWEN, OPENCODE])
def test_h07_a_session_s_messages_have_one_form_whichever_tool_wrote_them(
    tmp_path: Path, session_id: str
) -> None:
    transcript = read_session(Home(tmp_path).with_all().sessions()[session_id])
    own = [turn for turn in transcript.turns if turn.prompt and turn.prompt.text in [*PROMPTS, "bye"]]
    by_prompt = {turn.prompt.text: turn for turn in own if turn.prompt}
    assert set(by_prompt) == {*PROMPTS, "bye"}
    assert shape(by_prompt["hello one"]) == ["agent"]
    assert shape(by_prompt["THINK"]) == ["thought", "agent"]
    assert "step one, step two" in by_prompt["THINK"].rows[0].text
    written = by_prompt["TOOLWRITE"].rows
    assert [row.kind.value for row in written] == ["agent", "tool", "agent"]
    (change,) = written[1].data["content"]
    assert (change["type"], change["old"]) == ("diff", None)
    assert change["new"].startswith("hello from model")
    assert written[1].data["status"] == "completed"
    ran = by_prompt["TOOLSHELL"].rows[1]
    assert (ran.data["kind"], ran.data["title"].split()[0]) == ("execute", "echo")
    assert ran.data["status"] == ("failed" if session_id == CODEX else "completed")  # its reviewer refused
    assert all(turn.stop_reason is StopReason.END_TURN and turn.model for turn in own)
    assert all(turn.usage and turn.usage["outputTokens"] for turn in own)
    assert transcript.complete
    assert not transcript.left_out


def test_h07_a_codex_fork_has_its_source_s_messages(tmp_path: Path) -> None:
    home = Home(tmp_path).with_all()
    found = home.sessions()
    fork = read_session(found[CODEX_FORK])
    assert prompts(fork) == prompts(read_session(found[CODEX]))
    assert fork.complete
    source = found[CODEX].path
    assert source
    source.unlink()
    with pytest.raises(UnreadableTranscript, match="nothing was said"):
        read_session(found[CODEX_FORK])
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "on its own"}]}
    own = found[CODEX_FORK].path
    assert own
    with own.open("a") as file:
        file.write(json.dumps({"ordinal": 71, "type": "response_item", "payload": item}) + "\n")
    alone = read_session(found[CODEX_FORK])
    assert (prompts(alone), alone.complete) == (["on its own"], False)


def test_a_command_of_the_tool_s_own_is_a_prompt_as_it_was_typed(tmp_path: Path) -> None:
    transcript = read_session(Home(tmp_path).with_all().sessions()[CLAUDE])
    (asked,) = (turn for turn in transcript.turns if turn.prompt and turn.prompt.text == "/context")
    assert asked.rows[0].text.startswith("## Context Usage")
    assert asked.rows[0].kind is Kind.AGENT


def test_p05_images_are_named_and_what_we_once_told_is_folded(tmp_path: Path) -> None:
    home = Home(tmp_path)
    told = f"{BEGIN}\n> an old secret\n{END}"
    image = {"type": "image", "source": {"media_type": "image/png", "data": "AA=="}}
    blocks = [{"type": "text", "text": told}, {"type": "text", "text": "and now"}, image]
    home.write_claude(CLAUDE, [said(1, "user", blocks), said(2, "assistant", "yes")])
    head = home.sessions()[CLAUDE]
    (turn,) = read_session(head).turns
    assert turn.prompt
    assert (turn.prompt.text, head.first_prompt) == ("and now", "and now")
    assert turn.prompt.data["attachments"] == [{"name": "image 1", "mime": "image/png"}]
    assert turn.prior_context == told
    assert [row.kind for row in turn.rows] == [Kind.NOTICE, Kind.AGENT]
    assert "> an old secret" in turn.rows[0].data["detail"]


def test_only_the_main_line_of_a_rewound_session_is_read(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_claude(
        CLAUDE,
        [
            said(1, "user", "first"),
            said(2, "assistant", "one"),
            said(3, "user", "taken back"),
            said(4, "assistant", "never mind"),
            said(5, "user", "instead", above=2),
            said(6, "user", "for a subagent", isSidechain=True),
            said(7, "user", [{"type": "text", "text": "by the program"}], above=5, isMeta=True),
            said(8, "assistant", [{"type": "text", "text": "done"}], above=7),
        ],
    )
    transcript = read_session(home.sessions()[CLAUDE])
    assert prompts(transcript) == ["first", "instead"]
    left_out = {each.reason: each.count for each in transcript.left_out}
    assert left_out == {"message of another branch": 2, "message of a subagent": 1}
    assert transcript.complete


def test_calls_that_were_made_at_once_all_have_their_results(tmp_path: Path) -> None:
    def call(number: int) -> list[dict[str, object]]:
        return [
            {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": f"/{number}"}}
        ]

    def result(number: int) -> list[dict[str, object]]:
        return [{"type": "tool_result", "tool_use_id": f"t{number}", "content": f"result {number}"}]

    records = [
        said(1, "user", "read both"),
        said(2, "assistant", call(1)),
        said(3, "assistant", call(2)),
        said(4, "user", result(1), above=2),
        said(5, "user", result(2), above=3),
        said(6, "assistant", "both read"),
    ]
    for record in records[1:3]:
        record["message"] |= {"id": "msg_calls", "stop_reason": "tool_use"}
    home = Home(tmp_path)
    home.write_claude(CLAUDE, records)
    (turn,) = read_session(home.sessions()[CLAUDE]).turns
    assert [(row.kind.value, row.data.get("raw_output")) for row in turn.rows] == [
        ("tool", "result 1"),
        ("tool", "result 2"),
        ("agent", None),
    ]
    assert turn.stop_reason is StopReason.END_TURN


def test_a_turn_that_was_cut_is_told_from_one_that_ended(tmp_path: Path) -> None:
    home = Home(tmp_path)
    cut = said(
        4, "assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]
    )
    cut["message"]["stop_reason"] = "tool_use"
    home.write_claude(
        CLAUDE,
        [
            said(1, "user", "stop me"),
            said(2, "user", [{"type": "text", "text": "[Request interrupted by user]"}]),
            said(3, "user", "build it"),
            cut,
        ],
    )
    stopped, died = read_session(home.sessions()[CLAUDE]).turns
    assert stopped.stop_reason is StopReason.CANCELLED
    assert died.stop_reason is StopReason.INTERRUPTED
    assert (died.rows[0].state, died.rows[0].data["status"]) == (MessageState.INTERRUPTED, "unknown")


@pytest.mark.parametrize(
    ("session_id", "mark"),
    [(QWEN, '"subtype":"branch_checkpoint"'), (CODEX, '"type":"task_complete"')],
    ids=["qwen", "codex"],
)
def test_an_answer_that_was_cut_is_no_end_where_the_tool_notes_the_ends(
    tmp_path: Path, session_id: str, mark: str
) -> None:
    home = Home(tmp_path).with_all()
    path = home.sessions()[session_id].path
    assert path
    lines = path.read_text().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if mark in line)
    path.write_text("".join(lines[:last]))
    *others, cut = read_session(home.sessions()[session_id]).turns
    assert {turn.stop_reason for turn in others} == {StopReason.END_TURN}
    assert (cut.stop_reason, cut.rows[-1].state) == (StopReason.INTERRUPTED, MessageState.INTERRUPTED)


def test_a_compaction_and_an_error_of_codex_are_no_answers(tmp_path: Path) -> None:
    def event(kind: str, **told: object) -> dict[str, object]:
        return {"type": "event_msg", "payload": {"type": kind, **told}}

    def message(role: str, kind: str, text: str) -> dict[str, object]:
        said = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"type": "response_item", "payload": said}

    records = [
        {"type": "session_meta", "payload": {"id": CODEX, "cwd": PROJECT, "source": "cli"}},
        event("task_started"),
        message("user", "input_text", "<environment_context>\n</environment_context>"),
        message("user", "input_text", "fail"),
        event("task_complete", error={"message": "429 Too Many Requests"}),
        event("task_started"),
        message("assistant", "output_text", "a summary for the next model"),
        {"type": "compacted", "payload": {"message": "what was said"}},
        event("task_complete"),
        event("task_started"),
        message("user", "input_text", "go on"),
        message("assistant", "output_text", "gone on"),
        event("task_complete"),
        event("task_started"),
        message("user", "input_text", "taken back"),
        event("turn_aborted"),
        event("thread_rolled_back", num_turns=1),
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    failed, went_on = read_file(path).turns
    assert (failed.stop_reason, failed.error) == (StopReason.ERROR, "429 Too Many Requests")
    assert [row.data.get("compacted") for row in failed.rows] == ["completed"]
    assert went_on.prompt
    assert (went_on.prompt.text, [row.text for row in went_on.rows]) == ("go on", ["gone on"])


def test_m11_tasks_that_are_created_and_changed_one_by_one_are_a_plan(tmp_path: Path) -> None:
    def call(number: int, name: str, **arguments: str) -> dict[str, object]:
        return {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}

    def result(number: int, text: str) -> dict[str, object]:
        return {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}

    home = Home(tmp_path)
    home.write_claude(
        CLAUDE,
        [
            said(1, "user", "plan it"),
            said(
                2,
                "assistant",
                [call(1, "TaskCreate", subject="write"), call(2, "TaskCreate", subject="read")],
            ),
            said(3, "user", [result(1, "Task #1 created successfully: write"), result(2, "Task #2 created")]),
            said(4, "assistant", [call(3, "TaskUpdate", taskId="2", status="completed")]),
            said(5, "user", [result(3, "Updated task #2")]),
            said(6, "assistant", [{"type": "text", "text": "planned"}]),
        ],
    )
    (turn,) = read_session(home.sessions()[CLAUDE]).turns
    assert [row.kind for row in turn.rows] == [Kind.PLAN, Kind.AGENT]
    entries = turn.rows[0].data["entries"]
    assert [(each["text"], each["status"]) for each in entries] == [
        ("write", "pending"),
        ("read", "completed"),
    ]


def test_a_compaction_is_a_divider_with_its_summary(tmp_path: Path) -> None:
    home = Home(tmp_path)
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "u3",
        "parentUuid": None,
        "logicalParentUuid": "u2",
        "sessionId": CLAUDE,
    }
    home.write_claude(
        CLAUDE,
        [
            said(1, "user", "before"),
            said(2, "assistant", "much"),
            boundary,
            said(4, "user", "what was said: much", isCompactSummary=True),
            said(5, "user", "after"),
            said(6, "assistant", "little"),
        ],
    )
    transcript = read_session(home.sessions()[CLAUDE])
    assert prompts(transcript) == ["before", "after"]
    divider = transcript.turns[0].rows[-1]
    assert divider.data == {"compacted": "completed", "detail": ["what was said: much"]}


@pytest.mark.parametrize(
    ("tail", "complete", "left_out"),
    [
        ('{"type":"assistant","uuid":"u3","par', True, "line that is cut off at the end"),
        (
            "\x00\x00 not json\n" + json.dumps(said(3, "assistant", "later")) + "\n",
            False,
            "line that cannot be read",
        ),
    ],
)
def test_what_cannot_be_read_is_said_and_the_rest_is_there(
    tmp_path: Path, tail: str, complete: bool, left_out: str
) -> None:
    home = Home(tmp_path)
    path = home.write_claude(
        CLAUDE, [said(1, "user", "one\u2028line"), said(2, "assistant", "x" * 3_000_000)]
    )
    with path.open("a") as file:
        file.write(tail)
    transcript = read_session(home.sessions()[CLAUDE])
    assert prompts(transcript) == ["one\u2028line"]
    assert len(transcript.turns[0].rows[0].text) == 3_000_000
    assert [each.reason for each in transcript.left_out] == [left_out]
    assert transcript.complete is complete


def test_h16_a_file_is_recognised_by_its_content_wherever_it_lies(tmp_path: Path) -> None:
    for sample in ("claude", "claude-fork", "codex", "gemini", "qwen"):
        path = tmp_path / f"{sample}.txt"
        path.write_bytes((SAMPLES / f"{sample}.jsonl").read_bytes())
        assert tool_of_file(path) == sample.partition("-")[0]
        assert read_file(path).turns
    other = tmp_path / "catena.json"
    other.write_text('{\n "format": 1\n}')
    assert tool_of_file(other) is None
    assert read_file(tmp_path / "claude.txt").session.session_id == CLAUDE


def test_the_places_honour_what_each_tool_honours() -> None:
    environment = {
        "HOME": "/home/user",
        "CLAUDE_CONFIG_DIR": "/c",
        "CODEX_HOME": "/x",
        "XDG_DATA_HOME": "/data",
        "GEMINI_CLI_HOME": "/g",
        "QWEN_HOME": "/q",
    }
    roots = [str(place.root) for place in places(environment)]
    assert roots == ["/c", "/x", "/g/.gemini", "/q", "/data/opencode/opencode.db"]
    assert [str(place.root) for place in places({"HOME": "/home/user"})] == [
        "/home/user/.claude",
        "/home/user/.codex",
        "/home/user/.gemini",
        "/home/user/.qwen",
        "/home/user/.local/share/opencode/opencode.db",
    ]
    (work,) = places({"CLAUDE_CONFIG_DIR": "/work"}, "work", only="claude")
    assert work == SourcePlace(work.tool, Path("/work"), "work")


def test_a_database_in_use_is_read_with_its_newest_rows_and_left_as_it_is(tmp_path: Path) -> None:
    home = Home(tmp_path).with_all()
    with closing(home.opencode()) as owner:
        owner.execute("PRAGMA journal_mode = WAL")
        owner.execute("UPDATE session SET title = 'renamed just now' WHERE id = ?", (OPENCODE,))
        folder = tmp_path / ".local/share/opencode"
        before = sorted(path.name for path in folder.iterdir())
        found = home.sessions()[OPENCODE]
        assert found.title == "renamed just now"
        assert prompts(read_session(found))[-1] == "bye"
        assert sorted(path.name for path in folder.iterdir()) == before
        owner.execute("BEGIN EXCLUSIVE")
        assert home.sessions()[OPENCODE].title == "renamed just now"
        owner.execute("UPDATE session SET title = 'never' WHERE id = ?", (OPENCODE,))
        owner.execute("ROLLBACK")
    home.sessions()
    assert sorted(path.name for path in folder.iterdir()) == ["opencode.db"]


def test_a_database_that_was_left_with_its_log_is_read_from_a_copy(tmp_path: Path) -> None:
    home = Home(tmp_path).with_all()
    folder = tmp_path / ".local/share/opencode"
    with closing(home.opencode()) as owner:
        owner.execute("PRAGMA journal_mode = WAL")
        owner.execute("UPDATE session SET title = 'in the log' WHERE id = ?", (OPENCODE,))
        log = (folder / "opencode.db-wal").read_bytes()
        data = (folder / "opencode.db").read_bytes()
    (folder / "opencode.db").write_bytes(data)
    (folder / "opencode.db-wal").write_bytes(log)
    assert home.sessions()[OPENCODE].title == "in the log"
    assert sorted(path.name for path in folder.iterdir()) == ["opencode.db", "opencode.db-wal"]


def test_what_opencode_took_back_is_not_among_the_messages(tmp_path: Path) -> None:
    home = Home(tmp_path).with_all()
    with closing(home.opencode()) as owner:
        (last,) = owner.execute(
            "SELECT id FROM message WHERE session_id = ? AND json_extract(data, '$.role') = 'user'"
            " ORDER BY time_created DESC LIMIT 1",
            (OPENCODE,),
        ).fetchone()
        owner.execute(
            "UPDATE session SET revert = ? WHERE id = ?", (json.dumps({"messageID": last}), OPENCODE)
        )
        owner.execute("INSERT INTO part VALUES ('p', ?, ?, 0, 0, 'no json')", (last, OPENCODE_FORK))
    transcript = read_session(home.sessions()[OPENCODE])
    assert prompts(transcript) == PROMPTS
    assert not transcript.complete


def test_a_damaged_database_is_said_to_be_one(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    (batch,) = (batch for batch in home.scanner().batches() if batch.unread)
    assert "cannot be read" in batch.unread[0].reason
    with pytest.raises(sqlite3.DatabaseError), closing(home.opencode()) as owner:
        owner.execute("SELECT * FROM session")


@pytest.mark.parametrize(
    ("meta", "listed"),
    [
        ({"source": "cli"}, True),
        ({"source": {"custom": "a program of somebody's"}}, True),
        ({"source": "vscode", "thread_source": "user", "agent_nickname": "Ada"}, True),
        ({"source": {"subagent": "review"}}, False),
        ({"source": "subagent"}, False),
        ({"source": "cli", "thread_source": "subagent"}, False),
        ({"source": "cli", "agent_nickname": "Ada", "agent_role": "explorer"}, False),
        ({"source": "cli", "parent_thread_id": CODEX}, False),
    ],
)
def test_h16_a_rollout_of_a_subagent_of_codex_is_no_conversation_also_without_its_parent_s_id(
    tmp_path: Path, meta: dict[str, Any], listed: bool
) -> None:
    home = Home(tmp_path).with_all()
    path = home.sessions()[CODEX].path
    assert path is not None
    first, *others = path.read_text(encoding="utf-8").splitlines()
    record = json.loads(first)
    record["payload"] = {key: value for key, value in record["payload"].items() if key != "source"} | meta
    path.write_text("\n".join([json.dumps(record), *others]) + "\n", encoding="utf-8")
    assert (CODEX in home.sessions()) == listed
