"""Linear mode with a file or a pipe: each line waits for what the one before it brought."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from support.clients.command_line import Catena
from support.clients.listening import CLIENT, lines_told


def prompts(log: Path) -> list[str]:
    """The prompts that the agent got, each without what was replayed before it."""
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    return [each["blocks"][-1] for each in entries if each.get("method") == "session/prompt"]


def test_s04_enter_alone_allows_nothing_an_unknown_command_is_never_sent_and_an_empty_line_cancels_an_edit(
    tmp_path: Path,
) -> None:
    catena, log = Catena(tmp_path), tmp_path / "log"
    said = lines_told(
        catena,
        "/nosuch",
        "edit notes.txt",
        "",
        "   ",
        "allow it",
        "8",
        "/nosuch 4",
        "/reject",
        "say Two.",
        "/edit 4",
        "",
        "/edit 4",
        "say Two, again.",
        "/versions 4",
        "/open 1",
        "/edit 9",
        CATENA_REHEARSAL_LOG=str(log),
    )
    answers = [json.loads(line) for line in log.read_text().splitlines() if '"answer"' in line]
    assert [each["result"]["outcome"]["optionId"] for each in answers] == ["no"]
    assert said.count("Asks: Allow editing this file?") == 3  # Enter alone reads it again
    unknown = [line.partition(".")[0] for line in said if "Unknown" in line]
    assert unknown == ["Catena: Unknown command /nosuch"] * 2
    assert prompts(log) == ["edit notes.txt", "say Two.", "say Two, again."]
    assert "Catena: Cancelled; nothing was changed." in said
    assert said.count("You 4: say Two.") == 2 and "Rehearsal 5: Two, again." in said
    assert "Catena: There is no message 9: the last is 5." in said


def test_s04_numbers_stay_and_a_start_reads_the_last_exchange(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    lines_told(catena, "tool read a.txt; say One.", "fork is not a command; say Two.")
    said = lines_told(catena, "/tab 1", "/read 1", "/fork 3", "y")
    assert said[3].endswith("5 messages")
    assert said[4:10] == [
        "You 4: fork is not a command; say Two.",
        "Rehearsal 5: Two.",
        "You 1: tool read a.txt; say One.",
        "Tool 2: Read a.txt:1, done",
        "Rehearsal 3: One.",
        "You 4: fork is not a command; say Two.",
    ]
    assert any(
        line.startswith("Catena: Forked in this tab; the original is in the history.") for line in said
    )


def test_s04_a_deleted_conversation_is_not_opened_by_its_id(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    lines_told(catena, "say One.")
    (id,) = [each["id"] for each in catena("list", "--json").json]
    assert catena("delete", id).status == 0

    said = lines_told(catena, "/new", f"/open {id}")

    assert any(line.startswith("Catena: It was deleted already.") for line in said)
    assert not any("One." in line for line in said)


def test_s04_a_command_that_fails_is_said_in_a_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    settings = catena.settings("park = 'off'\n")
    long = "x" * 300
    said = lines_told(
        catena,
        "say One.",
        "/attach ~nosuch/x",
        "/export ~nosuch/x.md",
        f"/export {long}",
        "/export message 2 ~nosuch/x",
        "!echo '[' >> \"$CATENA_CONFIG_DIR/config.toml\"",
        "/draft drop",
        "/settings",
        "say Two.",
    )
    nobody = "Could not determine home directory."
    assert f"Trouble: ~nosuch/x cannot be read: {nobody}" in said
    assert f"Catena: ~nosuch/x.md: {nobody}" in said and f"Catena: ~nosuch/x: {nobody}" in said
    assert f"Catena: {long}: File name too long" in said
    assert any(line.startswith(f"Trouble: {settings}:2: invalid TOML: ") for line in said)
    assert "Rehearsal 4: Two." in said and said[-1].startswith("To continue: ")


def test_s04_a_login_that_is_needed_is_done_and_its_prompt_goes_out(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said = lines_told(catena, "say Hello.", "/login", CATENA_REHEARSAL_FLAGS="--auth=required")
    trouble = next(line for line in said if line.startswith("Trouble: "))
    assert "login" in trouble and "/login: Log in" in said[said.index(trouble) + 1]
    done = "Catena: Logged in to Rehearsal: the prompt that needed it is sent again."
    assert said.index("Rehearsal 2: Hello.") > said.index(done) > said.index(trouble)


def test_s04_quiet_says_answers_and_failures_and_verbose_says_everything(tmp_path: Path) -> None:
    story = ("think first; plan; tool read a.txt; fail it; edit! b.txt; say The end.",)
    quiet = lines_told(Catena(tmp_path / "quiet"), *story, level="quiet")
    words = [re.sub(r"[ \d]*:.*", "", line) for line in quiet]
    assert words[2:] == ["You", "Tool", "Output", "Rehearsal", "The end.", "Done", "To continue"]
    verbose = lines_told(Catena(tmp_path / "verbose"), *story, level="verbose")
    kinds = {re.sub(r"[ \d]*:.*", "", line) for line in verbose}
    assert {"Thought", "Plan", "Tool", "Output", "Change", "Line 1 removed", "Done"} <= kinds | {
        line.partition(":")[0] for line in verbose
    }


def test_s04_waiting_is_a_line_and_then_one_every_thirty_seconds(tmp_path: Path) -> None:
    catena, cues = Catena(tmp_path), tmp_path / "agent" / "cues"
    cues.mkdir(parents=True)
    client = subprocess.Popen(
        [sys.executable, CLIENT, "normal", "20"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=catena.project,
        env=catena.environment | {"CATENA_REHEARSAL_HOME": str(cues.parent)},
        text=True,
    )
    with client:
        assert client.stdin and client.stdout
        client.stdin.write("begin execute make; cue go; say The end.\n")
        client.stdin.close()
        waited = 0
        while waited < 2:
            line = client.stdout.readline()
            assert line
            waited += bool(re.fullmatch(r"Waiting: Rehearsal is at work for .+, in Run make\n", line))
        (cues / "go").touch()
        assert "Rehearsal 3: The end.\n" in client.stdout.read()


def test_u06_a_minute_without_a_word_is_said_once_if_no_tool_runs(tmp_path: Path) -> None:
    catena, cues = Catena(tmp_path), tmp_path / "agent" / "cues"
    cues.mkdir(parents=True)
    client = subprocess.Popen(
        [sys.executable, CLIENT, "normal", "60"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=catena.project,
        env=catena.environment | {"CATENA_REHEARSAL_HOME": str(cues.parent)},
        text=True,
    )
    with client:
        assert client.stdin and client.stdout
        # The first answer is waited for: while it starts, the agent says nothing, either.
        client.stdin.write("say Begun.\ncue go; say The end.\n")
        client.stdin.close()
        while "Begun." not in (line := client.stdout.readline()):
            assert line
        waited: list[str] = []
        while len(waited) < 6:
            line = client.stdout.readline()
            assert line
            waited += [line] if line.startswith("Waiting: ") else []
        (cues / "go").touch()
        assert "The end.\n" in client.stdout.read()
    (said,) = [line for line in waited if "no word" in line]
    assert re.fullmatch(
        r"Waiting: .+\. There is no word for \d min: it may be retrying; /stop stops it\.\n", said
    )


def test_s04_it_starts_without_the_screen(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    finished = catena(
        "--linear",
        "--agent",
        "rehearsal",
        stdin="edit notes.txt\n1\n/tree\n/help\n",
        PYTHONPROFILEIMPORTTIME="1",
    )
    imported = {line.rpartition("|")[2].strip() for line in finished.err.splitlines()}
    assert finished.status == 0 and "catena.linear.client" in imported
    assert not imported & {"textual", "rich", "markdown_it", "catena.app.app"}


def test_s04_a_file_on_standard_input_is_never_sent_unasked(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    finished = catena("--agent", "rehearsal", stdin="say This is a file.\n", TERM="dumb")
    assert finished.status == 2 and "catena --linear" in finished.err
    asked = catena("--agent", "rehearsal", stdin="say This is meant.\n", CATENA_LINEAR="quiet")
    assert asked.status == 0 and "Rehearsal 2: This is meant.\n" in asked.out
    wrong = catena("--linear=loud")
    assert wrong.status == 2 and "--linear: invalid choice: 'loud'" in wrong.err


def test_w30_a_project_s_template_is_allowed_only_once_its_text_was_read_out(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    folder = catena.project / ".catena/prompts"
    folder.mkdir(parents=True)
    (folder / "theirs.md").write_text("say First.")
    said = lines_told(
        catena,
        "/templates allow theirs",
        "y",
        "! printf 'say Other.' > .catena/prompts/theirs.md",
        "/templates allow theirs",
        "n",
    )
    asked = said.index("Allow this template to be sent unread?")
    assert said[asked - 1] == "say First."
    allowed = said.index("Catena: Allowed to be sent unread, until the file changes.", asked)
    changed = said.index("say Other.", allowed)
    assert said[changed + 1] == said[asked]
    assert not [line for line in said[changed:] if line.startswith("Catena: Allowed")]
    assert catena("run", "--agent", "rehearsal", "/theirs").status == 2


def test_u08_what_is_shipped_is_asked_read_about_and_meant_in_lines(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    folder = catena.project / ".catena/prompts"
    folder.mkdir(parents=True)
    (folder / "theirs.md").write_text("---\nside-question: true\n---\nsay Theirs.")
    said = lines_told(
        catena,
        "/help summary",
        "/help all",
        "/sumary",
        "say First.",
        "/theirs",
        "/templates allow theirs",
        "y",
        "/theirs",
        "",
        "/templates summary of it",
        "",
        "/rename",
        "/history inputs",
    )
    described = "/summary [WISH]: summarise the conversation: copy it, save it, or continue from it"
    assert said.count(described) == 2 and said.count("/theirs: say Theirs.") == 1
    (unknown,) = (line for line in said if "Unknown command" in line)
    assert "Did you mean /summary? Nothing was sent" in unknown
    waits = said.index(
        "Catena: This project's side question waits for you to allow it: /templates allow theirs."
    )
    assert said.index("Rehearsal, aside: Theirs.") > waits
    assert len([line for line in said if line.startswith("Catena: Side question, not saved: ")]) == 2
    assert [line.partition(": ")[2] for line in said if line.endswith(("/summary of it", "/theirs"))]


def test_u08_a_template_that_is_typed_in_a_choice_is_no_answer_to_it(tmp_path: Path) -> None:
    said = lines_told(Catena(tmp_path), "say One.", "/agent", "/summary", "", "/draft")
    assert [line for line in said if line.startswith("Catena: Side question, not saved: ")]
    assert "Catena: There is no draft." in said


def test_s04_several_agents_are_asked_only_where_all_of_them_take_the_prompt(tmp_path: Path) -> None:
    catena, log = Catena(tmp_path), tmp_path / "log"
    rehearsal = f"{shlex.quote(sys.executable)} -m catena_acp.rehearsal"
    catena.settings(
        f"[agents.two]\ncommand = {rehearsal!r}\n[agents.wall]\ncommand = '{rehearsal} --auth=required'\n"
    )
    asked = {"CATENA_REHEARSAL_LOG": str(log)}
    said = lines_told(catena, "say Before.", "/ask two wall say All.", "y", "/draft", **asked)
    assert prompts(log) == ["say Before."]
    assert any(line.startswith("Trouble: Nothing was sent. wall: ") for line in said)
    assert "say All." in said[said.index("Draft:") :]

    said = lines_told(catena, "/new", "say New.", "/ask two say All.", "y", "/tabs", **asked)
    assert prompts(log)[1:] == ["say New.", "say All.", "say All."]
    priced = "Ask Rehearsal and two this prompt at once: Rehearsal: same context, nothing replayed; two: 2 messages"
    assert any(line.startswith(priced) for line in said)


def test_s04_at_the_end_of_a_file_the_turns_of_other_tabs_are_waited_for_and_read(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    said = lines_told(catena, "say Before.", "/ask rehearsal edit notes.txt; say Done there.", "y", "n")
    opened = next(at for at, line in enumerate(said) if line.startswith("Open: edit notes.txt"))
    rest = said[opened:]
    assert rest.index("Catena: The input has ended: nobody answers, so it is rejected.") < rest.index(
        "Answered: Reject"
    )
    assert any(line.endswith("Done there.") and not line.startswith("You") for line in rest)
    assert any(line.startswith("Done: ") for line in rest)


def test_w12_an_invalid_answer_to_an_optional_field_is_said_and_asked_again(tmp_path: Path) -> None:
    answers = ("1", "Ada", "", "clown", "2", "perhaps", "yes", "1, never", "1, 2")
    said = lines_told(Catena(tmp_path), "form", *answers)

    troubles = [
        line for line in said if "Choose one of" in line or "Choose yes" in line or "Choose only" in line
    ]
    assert len(troubles) == 3
    assert any('"role": "villain", "mask": true, "days": ["sat", "sun"]' in line for line in said)


def test_s04_a_command_is_called_as_it_calls_itself_where_a_person_switches_back_to_it(
    tmp_path: Path,
) -> None:
    typed = "".join(f"{line}\n" for line in ("say one", "/agent rehearsal", "/agent", "2"))
    command = shlex.join([sys.executable, "-m", "catena_acp.rehearsal"])
    said = Catena(tmp_path)("--linear", "--agent-command", command, stdin=typed).out
    assert said.count("Catena: Switched to Rehearsal.") == 2, said


def test_u06_what_a_prompt_replays_is_said_before_it_once_and_not_where_an_act_has_said_it(
    tmp_path: Path,
) -> None:
    catena, flags = Catena(tmp_path), "--no-load --no-resume --no-fork"
    lines_told(catena, "say One.", CATENA_REHEARSAL_FLAGS=flags)
    said = lines_told(catena, "/tab 1", "/read 1", "say Two.", "/tab 1", CATENA_REHEARSAL_FLAGS=flags)
    priced = [line for line in said if "Your next prompt:" in line]
    assert len(priced) == 1 and "2 messages replayed" in priced[0], said
    assert said.index(priced[0]) < said.index("Rehearsal 4: Two.")
    forked = lines_told(catena, "/tab 1", "/fork 2", "y", CATENA_REHEARSAL_FLAGS=flags)
    behind = forked[next(at for at, line in enumerate(forked) if "Forked" in line) :]
    assert sum("Your next prompt:" in line for line in behind) == 1, forked


def test_n01_an_agent_that_is_asked_twice_is_told_apart_by_its_number(tmp_path: Path) -> None:
    said = lines_told(Catena(tmp_path), "/ask rehearsal say Hi.", "y", "/tabs")
    assert any(line.startswith("Ask Rehearsal and Rehearsal (2) this prompt at once") for line in said), said
    assert any("in tab 2" in line for line in said)
