"""The scenes of the rehearsal agent, over raw pipes."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from support.clients.rehearsal import Answer, RawAgent, ready, rehearsal
from support.places import ROOT

DIFFERENT_EVERY_TIME = ("toolCallId", "messageId", "compactionId", "updatedAt", "cost")


def test_w18_it_says_plainly_that_it_is_scripted(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "How do I fix the login form?\nIt is urgent.")
        assert answer.result["stopReason"] == "end_turn"
        assert "a script, not a model" in answer.text
        assert "> How do I fix the login form? It is urgent." in answer.text
        assert "## " in answer.text and "\n- " in answer.text and "```" in answer.text


def test_w18_help_lists_every_scene_in_a_screenful_and_explains_each_when_asked_for_all(
    tmp_path: Path,
) -> None:
    with ready(tmp_path) as (agent, session):
        said = agent.prompt(session, "Help").text
        assert "**no model**" in said
        assert len(said) < 76 * 18, "it starts at its beginning on a screen of 80 by 24"
        listed = scenes_in(said)
        assert {"say", "stream", "edit!", "echo", "crash", "ratelimit", "invalid-utf8"} <= listed
        assert agent.prompt(session, "/help").text == said
        explained = agent.prompt(session, "help all").text
        lines = [line for line in explained.splitlines() if line.startswith("- `")]
        assert {line.split("`")[1].split()[0] for line in lines} == listed
        assert all(line.split("`: ")[1] for line in lines)


def test_w18_help_lists_only_what_the_client_can_show(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        bare = scenes_in(agent.prompt(session, "help").text)
    assert not {"terminal", "form", "url", "notice", "compact"} & bare
    abilities: dict[str, object] = {
        "terminal": True,
        "elicitation": {"form": {}, "url": {}},
        "session": {"notices": {}},
    }
    with ready(tmp_path, **abilities) as (agent, session):
        assert scenes_in(agent.prompt(session, "help").text) - bare == {"terminal", "form", "url", "notice"}


def test_w18_the_document_names_every_scene_that_help_lists(tmp_path: Path) -> None:
    document = (ROOT / "docs" / "internals" / "rehearsal.md").read_text()
    with ready(tmp_path) as (agent, session):
        listed = scenes_in(agent.prompt(session, "help").text)
    assert {name for name in listed if f"`{name}" not in document} == set()


def scenes_in(text: str) -> set[str]:
    """The names of the scenes that a help lists."""
    titles = ("**Words**", "**Work**", "**Failures**")
    return {
        usage.split()[0]
        for line in text.splitlines()
        if line.startswith(titles)
        for usage in line.split("`")[1::2]
    }


def test_w18_several_scenes_run_in_order_and_prose_between_them_is_only_heard(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "remember PELICAN; say one\nplan my week\nthink hard; say two")
        kinds = [update["sessionUpdate"] for update in answer.updates if "content" in update]
        assert kinds == ["agent_message_chunk", "agent_thought_chunk", "agent_message_chunk"]
        assert answer.text == "onetwo"
        assert not answer.of("plan")
        assert "PELICAN" in agent.prompt(session, "echo").text


def test_w18_texts_of_neighbouring_scenes_are_paragraphs_of_one_message(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "say one; say two")
        assert answer.text == "one\n\ntwo"
        assert len({update["messageId"] for update in answer.of("agent_message_chunk")}) == 1


def test_w18_text_after_a_tool_call_is_a_new_message(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "say one; tool; say two")
        assert len({update["messageId"] for update in answer.of("agent_message_chunk")}) == 2


def test_w18_a_stream_is_exactly_as_many_chunks_and_the_same_every_time(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        first = agent.prompt(session, "stream 3000 end=CURTAIN")
        assert len(first.of("agent_message_chunk")) == 3001
        assert first.text.endswith("\n\nCURTAIN")
        assert first.text.count("```") % 2 == 0
        assert all(mark in first.text for mark in ("\n## ", "\n- ", "\n1. ", "\n> ", "```text", "**"))
        assert agent.prompt(session, "stream 3000 end=CURTAIN").text == first.text


def test_w18_a_flood_of_chunks_goes_out_in_few_writes(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        writes = _system_calls(agent, "syscw")
        answer = agent.prompt(session, "stream 20000")
        assert len(answer.of("agent_message_chunk")) == 20_000
        assert _system_calls(agent, "syscw") - writes < 1_000


def test_w18_a_paced_stream_can_be_stopped_and_keeps_what_it_told(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "stream 100000 rate 50")
        told = [m for m in agent.until_text("agent_message_chunk") if "method" in m]
        agent.cancel(session)
        answer = agent.finish(running)
        assert answer.result["stopReason"] == "cancelled"
        text = Answer(None, [message["params"]["update"] for message in told]).text + answer.text
        assert 0 < len(text.split()) < 100_000
        assert f"assistant {json.dumps(text, ensure_ascii=False)}" in agent.prompt(session, "context").text


def test_w18_a_tool_call_goes_from_pending_to_completed(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "tool search Look for the door")
        (call,) = answer.of("tool_call")
        assert call["title"] == "Look for the door"
        assert (call["kind"], call["status"]) == ("search", "pending")
        assert call["locations"] == [{"path": "/srv/place/door", "line": 1}]
        changes = answer.of("tool_call_update")
        assert [change["status"] for change in changes] == ["in_progress", "completed"]
        assert all(change["toolCallId"] == call["toolCallId"] for change in changes)
        assert "Look for the door" in changes[-1]["content"][0]["content"]["text"]


@pytest.mark.parametrize(("scene", "status"), [("begin", "in_progress"), ("fail", "failed")])
def test_w18_a_tool_call_can_stay_open_or_fail(tmp_path: Path, scene: str, status: str) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, f"{scene} execute Build it")
        assert answer.of("tool_call_update")[-1]["status"] == status


@pytest.mark.parametrize(
    ("option", "status", "said"),
    [
        ("yes", "completed", "I pretended to change"),
        ("yes-always", "completed", "I pretended to change"),
        ("no", "failed", "Rejected"),
        ("no-always", "failed", "Rejected"),
    ],
)
def test_w18_an_edit_shows_its_diff_and_asks_first(
    tmp_path: Path, option: str, status: str, said: str
) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "edit app/main.py")
        chosen = {"outcome": {"outcome": "selected", "optionId": option}}
        request = agent.answer_request("session/request_permission", result=chosen)
        assert request["params"]["sessionId"] == session
        kinds = [offered["kind"] for offered in request["params"]["options"]]
        assert kinds == ["allow_once", "allow_always", "reject_once", "reject_always"]
        (diff,) = request["params"]["toolCall"]["content"]
        assert (diff["type"], diff["path"]) == ("diff", "/srv/place/app/main.py")
        answer = agent.finish(running)
        assert answer.of("tool_call_update")[-1]["status"] == status
        assert said in answer.text


def test_w18_an_edit_with_a_bang_does_not_ask(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "edit! main.py")
        assert [update["status"] for update in answer.of("tool_call_update")] == ["in_progress", "completed"]


def test_w18_a_permission_answered_with_cancelled_stops_the_turn(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "ask; say never")
        agent.answer_request("session/request_permission", result={"outcome": {"outcome": "cancelled"}})
        answer = agent.finish(running)
        assert answer.result["stopReason"] == "cancelled"
        assert "never" not in answer.text


def test_w18_a_stopped_turn_does_not_wait_for_its_permission(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "ask; say never")
        agent.until(lambda message: message.get("method") == "session/request_permission")
        agent.cancel(session)
        assert agent.finish(running).result["stopReason"] == "cancelled"


def test_w18_an_agent_may_hold_on_to_its_permission_when_it_is_stopped(tmp_path: Path) -> None:
    with ready(tmp_path, "--permission-outlives-cancel") as (agent, session):
        running = agent.begin_prompt(session, "ask")
        request = agent.until(lambda message: message.get("method") == "session/request_permission")[-1]
        agent.cancel(session)
        with pytest.raises(TimeoutError):
            agent.next(within=0.3)
        agent.send({"id": request["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        assert agent.finish(running).result["stopReason"] == "cancelled"


def test_w18_what_was_chosen_is_said(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "ask Burn the script")
        chosen = {"outcome": {"outcome": "selected", "optionId": "no-always"}}
        request = agent.answer_request("session/request_permission", result=chosen)
        assert request["params"]["toolCall"]["title"] == "Burn the script"
        assert agent.finish(running).text == "You chose `no-always`."
        assert {"event": "answer", "id": request["id"], "result": chosen}.items() <= agent.heard()[-2].items()


def test_w18_a_command_shows_its_output_and_runs_nothing(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, f"run touch {tmp_path}/made")
        assert answer.of("tool_call")[0]["kind"] == "execute"
        assert "2 passed" in json.dumps(answer.of("tool_call_update")[-1]["content"])
        assert not (tmp_path / "made").exists()


def test_w18_files_are_read_and_written_through_the_client_where_it_offers_that(tmp_path: Path) -> None:
    with ready(tmp_path, fs={"readTextFile": True, "writeTextFile": True}) as (agent, session):
        reading = agent.begin_prompt(session, "read notes.txt")
        asked = agent.answer_request("fs/read_text_file", result={"content": "the notes"})
        assert asked["params"] == {"sessionId": session, "path": "/srv/place/notes.txt"}
        assert "the notes" in agent.finish(reading).text
        writing = agent.begin_prompt(session, "write /etc/passwd root me")
        asked = agent.answer_request("fs/write_text_file", error={"code": -32602, "message": "outside"})
        assert asked["params"] == {"sessionId": session, "path": "/etc/passwd", "content": "root me\n"}
        answer = agent.finish(writing)
        assert answer.of("tool_call_update")[-1]["status"] == "failed"
        assert "outside" in answer.text


@pytest.mark.parametrize("scene", ["read notes.txt", "write notes.txt hello", "terminal ls"])
def test_w18_nothing_is_asked_of_a_client_that_does_not_offer_it(tmp_path: Path, scene: str) -> None:
    with ready(tmp_path) as (agent, session):
        assert agent.prompt(session, scene).of("tool_call_update")[-1]["status"] == "failed"


def test_w18_a_terminal_is_run_by_the_client_and_released(tmp_path: Path) -> None:
    with ready(tmp_path, terminal=True) as (agent, session):
        running = agent.begin_prompt(session, "terminal ls -l")
        made = agent.answer_request("terminal/create", result={"terminalId": "t1"})
        assert (made["params"]["command"], made["params"]["args"]) == ("ls", ["-l"])
        agent.answer_request("terminal/wait_for_exit", result={"exitCode": 0})
        agent.answer_request("terminal/output", result={"output": "two files", "truncated": False})
        released = agent.answer_request("terminal/release", result={})
        assert released["params"]["terminalId"] == "t1"
        assert "two files" in agent.finish(running).text


@pytest.mark.parametrize(("scene", "mode"), [("form", "form"), ("url", "url")])
def test_w18_forms_and_addresses_are_asked_for(tmp_path: Path, scene: str, mode: str) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, scene)
        asked = agent.answer_request("elicitation/create", result={"action": "decline"})
        assert asked["params"]["mode"] == mode
        assert '"decline"' in agent.finish(running).text


def test_w18_a_plan_makes_progress(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        plans = agent.prompt(session, "plan").of("plan")
        assert [entry["status"] for entry in plans[0]["entries"]] == ["in_progress", "pending", "pending"]
        assert [entry["status"] for entry in plans[-1]["entries"]] == ["completed"] * 3


def test_w18_titles_commands_usage_and_notices_are_told(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "title The tempest; commands; usage 12/34; notice Beware; say ok")
        assert answer.of("session_info_update") == [
            {"sessionUpdate": "session_info_update", "title": "The tempest"}
        ]
        *_, commands = answer.of("available_commands_update")
        assert "encore" in [command["name"] for command in commands["availableCommands"]]
        (usage,) = answer.of("usage_update")
        assert (usage["used"], usage["size"], usage["cost"]["currency"]) == (12, 34, "USD")
        (notice,) = answer.of("notice")
        assert (notice["severity"], notice["title"]) == ("warning", "Beware")


def test_w18_usage_and_cost_grow_with_the_conversation(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        first = agent.prompt(session, "say one").of("usage_update")[-1]
        second = agent.prompt(session, "stream 50").of("usage_update")[-1]
        assert second["used"] > first["used"]
        assert second["cost"]["amount"] > first["cost"]["amount"] > 0


def test_w18_a_mode_that_the_agent_changes_shows_in_its_options(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "mode plan; settings")
        assert answer.of("current_mode_update")[0]["currentModeId"] == "plan"
        (options,) = answer.of("config_option_update")
        assert options["configOptions"][0]["currentValue"] == "plan"
        assert "mode=plan" in answer.text


def test_w18_compaction_and_an_unknown_kind_of_update_are_told(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "compact; unknown")
        assert [update["status"] for update in answer.of("compaction_update")] == ["in_progress", "completed"]
        assert answer.of("mood_changed")


@pytest.mark.parametrize(
    ("scene", "marks"),
    [
        (
            "markdown",
            ["# A showpiece", "```python", "```rust", "```sh", "| Scene |", "> > A", "     - deeper"],
        ),
        ("table", ["|:------|"]),
        ("code rust", ["```rust\nfn main()"]),
        ("code", ["```python\nfrom pathlib"]),
        ("todo", ["- [ ] write the test", "Next steps:"]),
    ],
)
def test_w18_showpieces_hold_what_they_promise(tmp_path: Path, scene: str, marks: list[str]) -> None:
    with ready(tmp_path) as (agent, session):
        said = agent.prompt(session, scene).text
        assert all(mark in said for mark in marks)


def test_w18_an_image_is_a_picture(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        (chunk,) = agent.prompt(session, "image").of("agent_message_chunk")
        assert chunk["content"]["mimeType"] == "image/png"
        assert base64.b64decode(chunk["content"]["data"]).startswith(b"\x89PNG")


def test_w18_a_huge_chunk_is_one_chunk(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        (chunk,) = agent.prompt(session, "huge 2000").of("agent_message_chunk")
        assert len(chunk["content"]["text"]) > 1_900 * 1024


def test_w18_control_sequences_come_in_every_place_that_holds_text(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "escape")
        for kind in (
            *("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"),
            *("available_commands_update", "session_info_update"),
        ):
            assert any("\\u001b]52" in json.dumps(update) for update in answer.of(kind)), kind


def test_w18_waiting_can_be_stopped(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        running = agent.begin_prompt(session, "say before; wait 60; say after")
        agent.until_text("before")
        agent.cancel(session)
        answer = agent.finish(running)
        assert answer.result["stopReason"] == "cancelled"
        assert "after" not in answer.text


def test_w18_a_redo_leaves_alone_what_it_was_told_is_done(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        assert agent.prompt(session, "redo Pay the bill").of("tool_call")
        assert not agent.prompt(session, "redo Pay the bill").of("tool_call")
        other = agent.new()
        assert not agent.prompt(other, "Done before: Send the letter.", "redo Send the letter").of(
            "tool_call"
        )
        assert agent.prompt(other, "redo Pay the bill").of("tool_call")


def test_w18_only_the_last_text_block_picks_the_scene(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        answer = agent.prompt(session, "What was said before:\ncrash\nsay wrong", "say right")
        assert answer.text == "right"


def test_w18_images_and_embedded_files_are_accepted(tmp_path: Path) -> None:
    with ready(tmp_path) as (agent, session):
        prompt = [
            {"type": "text", "text": "echo"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "SECRET"}},
            {"type": "resource_link", "uri": "file:///b.txt", "name": "b.txt"},
        ]
        answer = agent.finish(agent.begin("session/prompt", sessionId=session, prompt=prompt))
        assert 'last="echo/SECRET"' in answer.text
        assert agent.heard("session/prompt")[-1]["kinds"] == ["text", "image", "resource", "resource_link"]


def test_w18_two_runs_of_one_script_tell_the_same(tmp_path: Path) -> None:
    script = (
        "help; think; tool read a.py; edit! b.py; plan; markdown; image; notice; compact; escape; stream 40"
    )
    told = []
    for run in ("one", "two"):
        folder = tmp_path / run
        folder.mkdir()
        with ready(folder) as (agent, session):
            updates = agent.prompt(session, script).updates
            told.append(
                [{k: v for k, v in update.items() if k not in DIFFERENT_EVERY_TIME} for update in updates]
            )
    assert told[0] == told[1]


def test_w18_the_log_holds_what_was_heard_before_it_was_acted_on(tmp_path: Path) -> None:
    with rehearsal(tmp_path, "--name", "somebody") as agent:
        agent.initialize()
        session = agent.new()
        agent.prompt(session, "the first block", "say hé\nand more")
        agent.begin_prompt(session, "crash")
        agent.gone()
        lines = agent.heard()
        assert lines[0] | {"event": "start", "argv": ["--name", "somebody"]} == lines[0]
        assert {line["pid"] for line in lines} == {agent.process.pid}
        first, second = agent.heard("session/prompt")
        assert first["session"] == session
        assert first["blocks"] == ["the first block", "say hé\nand more"]
        assert second["blocks"] == ["crash"]


def _system_calls(agent: RawAgent, what: str) -> int:
    counted = Path(f"/proc/{agent.process.pid}/io")
    if not counted.exists():
        pytest.skip("this system does not count system calls")
    fields = dict(line.split(": ") for line in counted.read_text().splitlines())
    return int(fields[what])
