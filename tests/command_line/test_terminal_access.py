"""Commands that `catena run` runs for an agent, and where their output is read afterwards."""

from __future__ import annotations

from pathlib import Path

from support.clients.command_line import Catena, run


def test_w11_the_output_of_a_terminal_is_in_events_show_and_exports(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    (catena.project / "job.sh").write_text("seq 5\nprintf '\\033[31mred\\033[0m\\n'\nexit 3\n")

    answered = run(catena, "--json", "--permissions", "allow", "terminal sh job.sh")

    tool = [event for event in answered.events if event["event"] == "tool"][-1]
    (shown,) = tool["content"]
    assert (shown["output"], shown["exit_code"]) == ("1\n2\n3\n4\n5\n\x1b[31mred\x1b[0m", 3)
    conversation = answered.event("conversation")["id"]
    assert "  … 3 lines\n  4\n  5\n  red\n  exit 3\n" in catena("show", conversation).out
    assert "exit 3" in (exported := catena("export", conversation, "--format", "markdown").out)
    assert "5\nred\n" in exported and "\x1b" not in exported


def test_w11_w10_terminals_and_files_can_be_switched_off_in_the_settings(tmp_path: Path) -> None:
    catena = Catena(tmp_path)
    path = catena.settings("terminals = false\nfiles = false\n")
    said = run(catena, "--permissions", "allow", "terminal touch ran\nread job.sh\nwrite made x\nhelp")
    assert said.status == 0 and "`terminal" not in said.out and "`write" not in said.out
    assert not (catena.project / "ran").exists() and not (catena.project / "made").exists()
    assert catena("config", "terminals").out == f"terminals  false  {path}:1\n"

    catena.settings('files = "off"\nterminals = 1\n')
    wrong = catena("config", "terminals")
    assert wrong.status != 0
    assert f"{path}:2: `terminals` must be true or false" in wrong.err
