"""`catena run`, with the rehearsal agent as a process of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from support.clients.command_line import EXECUTABLE, Catena, Finished, newest, run, shown, typed, until

REHEARSAL = f"{shlex.quote(sys.executable)} -m catena_acp.rehearsal"


def test_c01_the_answer_s_text_and_nothing_else_goes_to_standard_output(tmp_path: Path) -> None:
    answered = run(Catena(tmp_path), "think hard\ntool read README.md\nsay Good evening.")

    assert answered == Finished(0, "Good evening.\n", "")


def test_c01_the_prompt_is_read_from_standard_input(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    piped = run(catena, stdin="say one line\nsay another\n")
    dashed = run(catena, "-", stdin="say dashed")

    assert (piped.status, piped.out) == (0, "one line\n\nanother\n")
    assert dashed.out == "dashed\n"


def test_c01_with_json_every_line_is_an_event_from_conversation_to_turn_ended(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    answered = run(catena, "--json", "think hm\nplan\ntool read README.md\nstream 40\nusage 100/2000")

    assert (answered.status, answered.err) == (0, "")
    names = [event["event"] for event in answered.events]
    assert names[0] == "conversation"
    assert names[-1] == "turn_ended"
    assert names.count("conversation") == names.count("turn_ended") == names.count("turn_started") == 1
    assert {"message", "link", "text", "tool", "plan", "usage"} <= set(names)
    conversation = answered.event("conversation")
    assert conversation["new"] is True
    assert conversation["agent"] == "rehearsal"
    assert conversation["cwd"] == os.path.realpath(catena.project)
    ended = answered.event("turn_ended")
    assert (ended["stop_reason"], ended["how"], ended["exit_status"]) == ("end_turn", "fresh", 0)
    assert answered.event("turn_started")["link_id"] == answered.event("link")["id"]


def test_c01_the_text_events_of_a_message_are_together_what_the_store_has(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    answered = run(catena, "--json", "think a thought\nstream 500\ntool read a\nsay the end")

    told: dict[str, str] = {}
    for event in answered.events:
        if event["event"] == "text":
            told[event["message_id"]] = told.get(event["message_id"], "") + event["text"]
    rows = shown(catena, answered.event("conversation")["id"])["messages"]
    assert told == {row["id"]: row["text"] for row in rows if row["kind"] in ("agent", "thought")}
    assert all(row["state"] == "final" for row in rows)


def test_r14_a_clearing_command_is_ours_and_one_line_on_standard_error(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    first = run(catena, "--json", "say canary-old").event("conversation")["id"]

    for command in ("/reset", "/new"):
        cleared = run(catena, "--resume", first, command)
        assert (cleared.status, cleared.out) == (0, "")
        (line,) = cleared.err.splitlines()
        assert line.startswith("Context cleared: ")

    as_json = run(catena, "--resume", first, "--json", "/clear")
    assert (as_json.status, as_json.err) == (0, "")
    assert as_json.event("remark")["text"] == line
    assert as_json.events[-1] == as_json.event("turn_ended") and as_json.events[-1]["exit_status"] == 0

    assert "canary-old" not in run(catena, "--resume", first, "echo").out
    assert run(catena, "/clear").status == 0
    assert [each["id"] for each in catena("list", "--json").json] == [first], "nothing is left of a new one"


def test_c01_what_is_remarked_before_the_conversation_is_known_comes_behind_it_and_its_branch(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    first = run(catena, "--json", "say one").event("conversation")["id"]
    answer = shown(catena, first)["messages"][-1]["id"]

    def moved_to(name: str, *arguments: str) -> Finished:
        catena.project = catena.project.rename(tmp_path / name)
        return catena("run", "--resume", first, "--cwd", ".", *arguments)

    at = moved_to("there\nis", "--json", "--at", answer, "say two")
    plain = moved_to("here", "say three")
    several = moved_to("elsewhere", "--json", "--agents", "rehearsal,rehearsal", "say four")

    assert [event["event"] for event in at.events][:3] == ["conversation", "branch", "remark"]
    assert [event["event"] for event in several.events][:2] == ["conversation", "remark"]
    assert "is gone; continues in" in at.event("remark")["text"]
    assert plain.err.startswith(f"The directory {tmp_path}/there is is gone; continues in {tmp_path}/here.\n")


def test_a_conversation_made_by_run_is_one_like_any_other(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    id = run(catena, "--json", "say hello").event("conversation")["id"]

    (listed,) = catena("list", "--json", "--cwd").json
    assert (listed["id"], listed["preview"], listed["messages"]) == (id, "say hello", 2)
    (window,) = shown(catena, id)["windows"]
    assert (window["open"], window["workspace_id"]) == (False, None)
    assert window["leaf_id"] == shown(catena, id)["messages"][-1]["id"]
    assert catena("show", id).out.endswith("\n\n▌ say hello\n\nhello\n")


def test_m01_a_conversation_s_id_is_ours_and_stays_through_restarts_and_new_sessions(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    first = run(catena, "--json", "say one").event("conversation")["id"]

    again = [run(catena, "--continue", "--json", prompt) for prompt in ("say two", "crash", "say three")]
    other = run(catena, "--json", "say else").event("conversation")["id"]

    assert [each.event("conversation")["id"] for each in again] == [first] * 3
    assert [each.event("conversation")["new"] for each in again] == [False] * 3
    assert other != first
    assert len(catena("list", "--json").json) == 2


def test_h10_continue_and_resume_by_id_prefix_and_title_reach_the_same_conversation(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    id = run(catena, "--json", "title The play\nsay one").event("conversation")["id"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(catena, "--cwd", str(elsewhere), "say elsewhere")

    went_on = [
        run(catena, *how, "--json", "echo")
        for how in (["--continue"], ["--resume", id], ["--resume", id[:8]], ["--resume", "The play"])
    ]

    assert [each.event("conversation")["id"] for each in went_on] == [id] * 4
    said = "".join(event["text"] for event in went_on[-1].events if event["event"] == "text")
    assert said == '[heard] users=5 assistants=4 last="echo" all=title The play/say one|echo|echo|echo|echo'


def test_the_next_run_opens_the_session_of_the_one_before(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    run(catena, "say one")

    resumed = run(catena, "--continue", "--json", "echo")

    assert resumed.event("turn_ended")["how"] == "resumed"
    whole = shown(catena, newest(catena))
    assert len(whole["links"]) == 1
    assert {row["link_id"] for row in whole["messages"] if row["turn_id"]} == {whole["links"][0]["id"]}


def test_m04_a_link_is_in_the_store_before_its_first_prompt_goes_out(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    crashed = run(catena, "--json", "crash")
    after = run(catena, "--continue", "--json", "echo")

    session = crashed.event("link")["session_id"]
    assert crashed.status == 3
    links = shown(catena, newest(catena))["links"]
    assert links[0]["session_id"] == session
    assert after.status == 0


def test_m07_an_agent_that_dies_costs_a_turn_and_not_the_conversation(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    run(catena, "say one")

    died = run(catena, "--continue", "crash")
    after = run(catena, "--continue", "--json", "echo")

    assert died.status == 3
    assert died.out == "I was about to say\n"
    assert "killed by signal 9" in died.err
    assert after.status == 0
    assert "say one" in "".join(event["text"] for event in after.events if event["event"] == "text")
    states = {row["text"]: row["state"] for row in shown(catena, newest(catena))["messages"]}
    assert states["I was about to say"] == "interrupted"


def test_a_new_session_that_was_told_the_conversation_is_a_seam_on_standard_error(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    forgetful = f"{REHEARSAL} --no-load --no-resume --no-fork"
    run_forgetful = ("run", "--agent-command", forgetful)
    catena(*run_forgetful, "say one")

    told = catena(*run_forgetful, "--continue", "echo")
    as_json = catena(*run_forgetful, "--continue", "--json", "say three")

    assert told.status == 0
    assert told.err.startswith("╌╌ ")
    assert "2 messages replayed" in told.err
    assert told.out.startswith("[heard] ")
    seam = as_json.event("seam")
    assert (seam["how"], seam["told"], seam["told_total"]) == ("told", 4, 4)
    assert as_json.event("turn_ended")["how"] == "told"


def test_a_missing_agent_is_status_3_and_leaves_nothing_but_the_typed_text(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    unknown = catena("run", "--agent", "nobody", "a long prompt")
    missing = catena("run", "--agent-command", "no-such-program --acp", "another one")
    as_json = catena("run", "--json", "--agent-command", "no-such-program", "third")

    assert (unknown.status, missing.status, as_json.status) == (3, 3, 3)
    assert unknown.err.startswith("catena: nobody: no such agent; ")
    assert missing.err == "catena: no-such-program: not found or not executable\n"
    assert [event["event"] for event in as_json.events] == ["problem", "turn_ended"]
    assert as_json.events[-1]["stop_reason"] == "not_sent"
    assert catena("list", "--json").json == []
    assert typed(catena) == ["third", "another one", "a long prompt"]


def test_r12_what_was_said_is_in_the_input_history(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    run(catena, "say one")

    assert typed(catena) == ["say one"]


def test_json_ends_with_turn_ended_also_where_no_conversation_was_found(tmp_path: Path) -> None:
    unknown = run(Catena(tmp_path), "--json", "--resume", "nope", "say x")

    assert unknown.status == 2
    problem, ended = unknown.events
    assert problem["text"] == "no conversation 'nope'"
    assert (ended["event"], ended["stop_reason"], ended["exit_status"]) == ("turn_ended", "not_sent", 2)
    assert unknown.err == ""


def test_an_agent_that_wants_a_login_is_status_6(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    wanted = catena("run", "--agent-command", f"{REHEARSAL} --auth required", "say x")

    assert (wanted.status, wanted.out) == (6, "")
    assert "log in" in wanted.err


@pytest.mark.parametrize(
    ("prompt", "status", "stop_reason"),
    [
        ("refuse", 1, "refusal"),
        ("maxtokens", 0, "max_tokens"),
        ("say so far\nerror -32603 No luck today", 1, "error"),
        ("error -32603 No luck today", 1, "not_sent"),
        ("empty", 1, "end_turn"),
        ("exit 0", 3, "agent_gone"),
    ],
)
def test_how_a_turn_ended_is_the_exit_status(
    tmp_path: Path, prompt: str, status: int, stop_reason: str
) -> None:
    ended = run(Catena(tmp_path), "--json", prompt)

    assert (ended.status, ended.event("turn_ended")["stop_reason"]) == (status, stop_reason)
    assert ended.event("turn_ended")["exit_status"] == status


def test_r01_json_tells_the_story_of_trouble_and_the_turn_s_end_stays_last(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    faults = tmp_path / "faults.json"

    limited = run(catena, "--json", "say half\nratelimit 600")
    faults.write_text(json.dumps({"load": {"error": [-32002, "Resource not found"]}}))
    lost = run(catena, "--continue", "--json", "echo", CATENA_REHEARSAL_FAULTS=str(faults))

    names = [event["event"] for event in limited.events]
    assert names.index("link_changed") < names.index("link") < names.index("turn_started")
    assert names[-2:] == ["problem", "turn_ended"]
    problem, notice = limited.event("problem"), limited.event("notice")
    assert problem["trouble"] == notice["trouble"] == "rate_limit"
    assert problem["text"] == notice["text"]
    assert problem["offers"] == ["wait", "retry", "other_agent"]
    assert datetime.fromisoformat(problem["resets_at"]) == datetime.fromisoformat(notice["resets_at"])
    assert problem["returned"] is False
    assert problem["detail"] == notice["detail"] != []
    assert (limited.status, limited.event("turn_ended")["stop_reason"]) == (1, "error")
    gone, born = [event for event in lost.events if event["event"] == "link_changed"]
    assert (gone["link"]["id"], gone["link"]["state"]) == (limited.event("link")["id"], "lost")
    assert gone["why"] == "Resource not found"
    assert (born["link"]["id"], born["link"]["state"], born["why"]) == (
        lost.event("link")["id"],
        "open",
        None,
    )
    assert lost.event("seam")["cause"] == "session lost (Resource not found)"
    assert (lost.status, lost.events[-1]["event"]) == (0, "turn_ended")


def test_r09_an_error_that_is_the_only_answer_is_written_as_it_is_and_is_no_success(tmp_path: Path) -> None:
    plain = run(Catena(tmp_path), "errortext")

    words = "exceeded retry limit, last status: 429 Too Many Requests"
    assert (plain.status, plain.out) == (1, f"{words}\n")
    assert plain.err.startswith(f"Rehearsal is rate limited: {words}. ")


def test_r15_a_compaction_is_a_divider_in_what_is_shown(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    told = run(catena, "--json", "say before\ncompact\nsay after")

    notice = [event for event in told.events if event["event"] == "notice"][-1]  # told anew as it goes on
    assert (notice["compacted"], notice["detail"]) == ("completed", ["We talked for a while."])
    shown = catena("show", newest(catena)).out
    assert "\n\n╌╌ the agent shortened its own context (the transcript stays) ╌╌\n\n" in shown


def test_a_prompt_that_no_agent_took_says_that_it_is_not_lost(tmp_path: Path) -> None:
    refused = run(Catena(tmp_path), "--json", "error -32603 No luck today")

    problem = refused.event("problem")
    assert (problem["trouble"], problem["returned"]) == ("refused", True)
    assert problem["offers"] == ["retry", "other_agent"]
    assert problem["text"] == "Rehearsal refused: No luck today. Your text is in the prompt history."


def test_u10_what_is_piped_is_sent_behind_the_prompt_and_marked(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    (catena.project / "notes.txt").write_text("not to be sent\n")

    def sent(*arguments: str, stdin: str) -> str:
        id = run(catena, "--json", *arguments, stdin=stdin).event("conversation")["id"]
        (prompt,) = (each for each in shown(catena, id)["messages"] if each["kind"] == "user")
        assert not prompt["data"].get("attachments"), "a mention in what is piped is text"
        return str(prompt["text"])

    assert (
        sent("Review this", stdin="-old\n+@notes.txt\n")
        == "Review this\n\n[piped 2 lines]\n-old\n+@notes.txt"
    )
    assert sent("Review this", stdin="\n") == "Review this"
    assert sent("-", stdin="all of it\n") == "all of it"


@pytest.mark.parametrize(
    ("piped", "words"), [(b"PNG\0\1", "is not text"), (b"x" * (10 * 1024 * 1024 + 1), "is over 10 MB")]
)
def test_u10_a_pipe_that_is_binary_or_huge_is_refused(tmp_path: Path, piped: bytes, words: str) -> None:
    catena = Catena(tmp_path)
    done = subprocess.run(
        [EXECUTABLE, "run", "--agent", "rehearsal", "say hi"],
        input=piped,
        cwd=catena.project,
        env=catena.environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"") and words in done.stderr.decode()
    assert not catena.store.exists()


def test_u10_nothing_is_read_from_a_terminal_and_a_silent_pipe_is_named(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    ours, theirs = pty.openpty()
    with catena.start("run", "--agent", "rehearsal", "say hi", stdin=theirs) as on_terminal:
        assert on_terminal.communicate(timeout=60)[0] == "hi\n"
    os.close(ours)
    os.close(theirs)
    with catena.start("run", "--agent", "rehearsal", "say hi", stdin=subprocess.PIPE) as silent:
        assert silent.stderr is not None
        assert "waiting for standard input" in silent.stderr.readline()
        assert silent.communicate(timeout=60)[0] == "hi\n"


def test_a_conversation_that_another_catena_has_is_status_5(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    id = run(catena, "--json", "say one").event("conversation")["id"]
    holder = catena.start("run", "--agent", "rehearsal", "--resume", id, "say held\nhang")

    with holder:
        until(holder, "held")
        refused = run(catena, "--resume", id, "say two")
        as_json = run(catena, "--json", "--resume", id, "say two")
        holder.send_signal(signal.SIGINT)
        holder.communicate(timeout=60)

    assert (refused.status, refused.out) == (5, "")
    named = rf"catena: Read-only: .* open in Catena on \S+ \(pid {holder.pid}, since [\d: -]+\)\.\n"
    assert re.fullmatch(named, refused.err)
    assert as_json.events[-1]["exit_status"] == 5
    assert run(catena, "--resume", id, "say three").out == "three\n"


def test_w27_what_an_agent_says_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    catena = Catena(tmp_path)

    plain = run(catena, "escape\nnotice \x1b]0;owned\x07")

    assert plain.status == 0
    assert not {character for character in plain.out + plain.err if ord(character) < 32} - {"\n", "\t"}
    assert not {character for character in plain.out + plain.err if 0x7F <= ord(character) < 0xA0}


def test_settings_choose_the_agent_and_give_it_its_environment(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    log = tmp_path / "heard.jsonl"
    catena.settings(
        f"""
        agent = "mine"

        [agents.mine]
        command = {REHEARSAL!r}
        env = {{ CATENA_REHEARSAL_LOG = "{log}" }}
        """
    )

    first = catena("run", "--json", "say one")
    second = catena("run", "--continue", "say two")

    assert first.event("conversation")["agent"].startswith("command:")
    assert (second.status, second.out) == (0, "two\n")
    assert "say two" in log.read_text()


def test_settings_that_are_invalid_are_a_problem_among_the_events(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    catena.settings('permissions = "sometimes"')

    as_json, plain = run(catena, "--json", "say never"), run(catena, "say never")

    assert (as_json.status, as_json.err) == (2, "")
    problem = as_json.event("problem")
    assert (problem["trouble"], problem["offers"]) == ("usage", [])
    assert as_json.events[-1]["event"] == "turn_ended" and as_json.events[-1]["exit_status"] == 2
    assert (plain.status, plain.out, plain.err) == (2, "", f"catena: {problem['text']}\n")


def test_the_next_conversation_is_answered_by_the_agent_last_used(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    run(catena, "say one")

    assert catena("run", "--json", "say two").event("conversation")["agent"] == "rehearsal"


def test_w04_a_mention_goes_along_as_from_the_composer(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    (catena.project / "notes.md").write_text("mind the gap\n")

    answered = run(catena, "--json", "say see @notes.md, not @nobody or \\@notes.md")

    assert answered.status == 0
    (prompt, *_) = shown(catena, answered.event("conversation")["id"])["messages"]
    assert [each["name"] for each in prompt["data"]["attachments"]] == ["@notes.md"]

    refused = run(catena, "say @notes.md:7-9")
    assert refused.status != 0
    assert "notes.md has no lines 7-9. A backslash before the @ sends it as text." in refused.err
