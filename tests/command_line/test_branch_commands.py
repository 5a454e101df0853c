"""Branches from the command line: every one of them can be made by a script."""

from __future__ import annotations

import re
import subprocess
import sys
from array import array
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from catena.cli.conversations.show import TreeContents, tree_lines
from catena.rendering.contents import ExportPart
from catena.rendering.markdown import MarkdownRenderer
from catena_store.conversations.tree import TreeNode
from catena_store.exchange.outline import Passage
from catena_store.records import ConversationRecord, MessageState
from catena_store.windows import windows
from support.clients.command_line import Catena, Finished, newest, run, shown, wait_until
from support.counted_work import calls_counted
from support.json_lines import json_lines
from support.places import OWNER_CLIENT

_NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
RECORD = ConversationRecord("c1", "c1", "A tree", "rehearsal", "", "/shop", None, _NOON, _NOON)


@pytest.fixture
def catena(tmp_path: Path) -> Catena:
    return Catena(tmp_path)


def talked(catena: Catena) -> tuple[str, list[dict[str, Any]]]:
    """A conversation of three turns; its id, and its messages."""
    assert run(catena, "say one").status == 0
    id = newest(catena)
    assert run(catena, "--resume", id, "say two").status == 0
    assert run(catena, "--resume", id, "say three").status == 0
    return id, shown(catena, id)["messages"]


def row(messages: list[dict[str, Any]], text: str) -> dict[str, Any]:
    """The message of this text."""
    return next(message for message in messages if message["text"] == text)


def heard(finished: Finished) -> str:
    """What the agent says that it has heard, of an `echo`."""
    assert finished.status == 0, finished.err
    text = "".join(event["text"] for event in finished.events if event["event"] == "text")
    return text.split("all=")[1].strip().removesuffix('"')


def test_c02_a_prompt_is_said_in_a_fork_anew_or_after_any_message(catena: Catena) -> None:
    # Of a version that is known to fork only at its head: forks of its turns are kept.
    catena.environment["CATENA_REHEARSAL_FLAGS"] = "--name opencode --version 1.18.33"
    id, messages = talked(catena)
    first, second = row(messages, "one"), row(messages, "say two")

    forked = run(catena, "--resume", id, "--fork", "--json", "echo")
    assert heard(forked) == "say one|say two|say three|echo"
    conversation = forked.event("conversation")
    assert conversation["new"]
    assert (conversation["family"], conversation["fork_point_id"]) == (id, messages[-1]["id"])
    branch = forked.event("branch")
    assert (branch["act"], branch["source_id"], branch["told"]) == ("fork", id, 0)
    assert forked.event("turn_started")["how"] == "forked"
    assert conversation["id"] != id == shown(catena, id)["conversation"]["id"]
    assert shown(catena, id)["messages"] == messages

    at = run(catena, "--resume", id, "--at", first["id"][:10], "--json", "echo")
    assert heard(at) == "say one|echo"
    assert not at.event("conversation")["new"]
    branch = at.event("branch")
    assert (branch["act"], branch["leaf_id"]) == ("at", first["id"])
    assert (branch["how"], branch["told"]) == (
        at.event("turn_started")["how"],
        at.event("turn_started")["told"],
    )

    edited = run(catena, "--resume", id, "--edit", second["id"], "--json", "say else; echo")
    assert heard(edited) == "say one|say else; echo"
    assert edited.event("branch")["edited_id"] == second["id"]
    now = shown(catena, id)["messages"]
    assert row(now, "say else; echo")["parent_id"] == second["parent_id"]
    assert messages == now[: len(messages)]

    # The next one goes on where this one was.
    assert (
        heard(run(catena, "--resume", id, "--json", "say more; echo"))
        == "say one|say else; echo|say more; echo"
    )

    twig = run(catena, "--resume", id, "--fork", "--at", first["id"], "--json", "echo")
    assert heard(twig) == "say one|echo"
    assert twig.event("conversation")["fork_point_id"] == first["id"]
    plain = run(catena, "--resume", id, "--fork", "say hello")
    assert plain.out == "hello\n"
    assert f"Forked as {newest(catena)}: " in plain.err

    first_anew = run(catena, "--resume", id, "--edit", messages[0]["id"], "--json", "echo")
    assert heard(first_anew) == "echo"
    assert first_anew.event("turn_started")["how"] == "fresh"
    for each in (id, conversation["id"]):
        assert catena.write(partial(windows.open_in, conversation_id=each)) == []


def test_c02_what_cannot_be_is_refused_in_one_line_and_nothing_is_begun(catena: Catena) -> None:
    assert run(catena, "say one").status == 0
    id = newest(catena)
    messages = shown(catena, id)["messages"]
    prompt, answer = row(messages, "say one")["id"], row(messages, "one")["id"]
    other = run(catena, "say elsewhere")
    assert other.status == 0
    elsewhere = shown(catena, newest(catena))["messages"][0]["id"]
    refused = {
        ("--resume", id, "--at", prompt): "is a prompt",
        ("--resume", id, "--edit", answer): "is not a prompt",
        ("--resume", id, "--edit", "nobody"): "no message 'nobody'",
        ("--resume", id, "--edit", elsewhere): "no message",
        ("--resume", id, "--at", ""): "no message",
        ("--resume", id, "--edit", prompt, "--fork"): "--edit and --fork cannot be combined",
        ("--resume", id, "--edit", prompt, "--at", answer): "not allowed with",
        ("--fork",): "need --resume or --continue",
        ("--at", answer): "need --resume or --continue",
    }
    for arguments, words in refused.items():
        finished = run(catena, *arguments, "say never")
        assert finished.status == 2, arguments
        assert words in finished.err, arguments
        assert finished.err.count("\n") == 1
    assert shown(catena, id)["messages"] == messages
    assert len(catena("list", "--json").json) == 2


def test_f07_a_fork_of_an_agent_that_cannot_fork_is_told_and_says_so(catena: Catena) -> None:
    flags = {"CATENA_REHEARSAL_FLAGS": "--no-fork"}
    assert run(catena, "say one", **flags).status == 0
    id = newest(catena)
    forked = run(catena, "--resume", id, "--fork", "--json", "say two", **flags)
    branch = forked.event("branch")
    assert (branch["how"], branch["told"], branch["told_total"]) == ("told", 2, 2)
    assert forked.event("turn_started")["how"] == "told"


def test_c02_the_price_of_every_branch_is_printed_before_the_answer(catena: Catena) -> None:
    catena.environment["CATENA_REHEARSAL_FLAGS"] = "--no-fork"
    id, messages = talked(catena)
    first, answer = messages[0]["id"], row(messages, "one")["id"]

    at = run(catena, "--resume", id, "--at", answer, "say after")
    edited = run(catena, "--resume", id, "--edit", first, "say anew")
    forked = run(catena, "--resume", id, "--fork", "--at", answer, "say apart")

    told = "2 messages replayed, ~"
    assert at.err.startswith(f"Branched: {told}")
    assert edited.err.startswith("Edited: new session, nothing to replay\n")
    assert forked.err.startswith(f"Forked as {newest(catena)}: {told}")


def test_f08_a_refused_fork_is_made_by_a_replay_and_one_line_has_the_agents_words(
    catena: Catena, tmp_path: Path
) -> None:
    assert run(catena, "say one").status == 0
    faults = tmp_path / "faults.json"
    faults.write_text('{"fork": {"error": [-32603, "no copies today"]}}')
    forked = run(
        catena,
        "--resume",
        newest(catena),
        "--fork",
        "say two",
        CATENA_REHEARSAL_FAULTS=str(faults),
    )
    assert (forked.status, forked.out) == (0, "two\n")
    assert forked.err.count("no copies today") == 1
    assert len(catena("list", "--json").json) == 2


def test_f12_the_tree_shows_siblings_badges_and_forks(catena: Catena) -> None:
    id, messages = talked(catena)
    second = row(messages, "say two")["id"]
    assert run(catena, "--resume", id, "--edit", second, "say else; stopreason refusal").status == 1
    other = ("--agent-command", rehearsal())
    assert catena("run", "--resume", id, *other, "say end").status == 0
    at = row(messages, "one")["id"]
    forked = run(catena, "--resume", id, "--fork", "--at", at, "--json", "say aside")
    fork = forked.event("conversation")["id"]

    text = catena("show", id, "--tree")
    assert text.status == 0, text.err
    first = row(messages, "say one")["id"]
    lines = text.out.splitlines()[3:]
    assert lines[4] == f"branch 2 · from {first}"
    assert [line.rsplit(" · ", 1)[0] for line in lines] == [
        "say one · rehearsal · then also branches 2–3",
        "say two · ‹1/2›",
        "say three",
        "",
        "branch 2",
        "say else; stopreason refusal · ‹2/2› · refused by the agent",
        f"say end · command:{rehearsal()} · ◂ here",
        "",
        "branch 3",
        f"say aside · fork {fork}",
    ]
    tree = catena("show", id, "--tree", "--json").json
    assert tree["conversation"]["id"] == id
    nodes = {node["preview"]: node for node in tree["nodes"]}
    assert list(nodes) == [
        "say one",
        "say two",
        "say three",
        "say else; stopreason refusal",
        "say end",
        "say aside",
    ]
    assert nodes["say three"]["parent_id"] == second
    assert nodes["say two"]["leaf_id"] == row(messages, "three")["id"]
    assert (nodes["say aside"]["conversation_id"], nodes["say aside"]["own"]) == (fork, False)
    assert tree["here"] == nodes["say end"]["id"]
    assert tree["leaf_id"] == nodes["say end"]["leaf_id"]

    # From the fork, what it has of its source and its own.
    tree = catena("show", fork, "--tree", "--json").json
    assert [node["preview"] for node in tree["nodes"]] == ["say one", "say aside"]
    assert catena("show", fork, "--tree", "--chain").status == 2


@pytest.mark.parametrize("of_one_prompt", [False, True])
def test_f12_the_tree_is_as_long_and_as_much_work_as_its_prompts_are_many(of_one_prompt: bool) -> None:
    def drawn(count: int) -> tuple[int, int]:
        nodes = [prompt_node(f"m{at:06}", f"m{at - 1:06}" if at else None) for at in range(count)]
        above = [0 if of_one_prompt else at for at in range(count)]
        nodes += [prompt_node(f"n{at:06}", f"m{over:06}") for at, over in enumerate(above)]
        with calls_counted() as calls:
            text = "\n".join(tree_lines(TreeContents(RECORD, "m000000", "m000000", nodes)))
        assert len(set(re.findall(r"[mn]\d{6}$", text, re.MULTILINE))) == 2 * count
        return calls.made, len(text)

    small, large = drawn(100), drawn(800)
    assert all(after < 10 * before for before, after in zip(small, large, strict=True)), (small, large)


def test_h15_the_versions_of_a_prompt_in_an_export_are_as_long_as_they_are_many() -> None:
    def exported(count: int) -> int:
        versions, markdown = tuple(range(count)), MarkdownRenderer()
        passages = (Passage(at, None, versions, "c1", array("q")) for at in versions)
        return len("".join(markdown.part(ExportPart(passage, ())) for passage in passages))

    assert exported(800) < 10 * exported(100)


def prompt_node(id: str, parent_id: str | None) -> TreeNode:
    return TreeNode(
        id=id,
        parent_id=parent_id,
        hangs_from=parent_id,
        conversation_id=RECORD.id,
        preview="say it",
        state=MessageState.FINAL,
        agent=None,
        profile=None,
        how=None,
        stop_reason=None,
        trouble=None,
        rows=1,
        end_id=id,
        leaf_id=id,
        created_at=RECORD.created_at,
    )


def rehearsal() -> str:
    """A command of the rehearsal agent, as another agent."""
    return f"{sys.executable} -m catena_acp.rehearsal"


def test_f02_a_conversation_that_another_client_has_can_be_forked_and_not_edited(
    catena: Catena, tmp_path: Path
) -> None:
    home = tmp_path / "agent"
    catena.data.mkdir()
    owner = subprocess.Popen(
        [sys.executable, OWNER_CLIENT, str(catena.store), str(home)], stdout=subprocess.PIPE, text=True
    )
    with owner:
        try:
            assert owner.stdout
            id = owner.stdout.readline().strip()
            wait_until(lambda: len(shown(catena, id)["messages"]) > 8)
            prompt = shown(catena, id)["messages"][0]["id"]
            flags = {"CATENA_REHEARSAL_HOME": str(home)}
            edited = run(catena, "--resume", id, "--edit", prompt, "say never", **flags)
            assert edited.status == 5
            forked = run(catena, "--resume", id, "--fork", "--json", "say aside", **flags)
            assert forked.status == 0, forked.events
            assert forked.event("conversation")["family"] == id
            before = len(shown(catena, id)["messages"])
            wait_until(lambda: len(shown(catena, id)["messages"]) > before)
            assert owner.poll() is None
        finally:
            owner.kill()


def test_c02_a_run_tries_out_a_fork_at_a_message_only_where_its_branch_needs_the_answer(
    catena: Catena, tmp_path: Path
) -> None:
    catena.environment |= {
        "CATENA_REHEARSAL_FLAGS": "--fork-at",
        "CATENA_REHEARSAL_LOG": str(tmp_path / "log"),
    }

    def forks() -> int:
        return sum(line.get("method") == "session/fork" for line in json_lines(tmp_path / "log"))

    id, messages = talked(catena)
    assert run(catena, "--resume", id, "--fork", "say beside").status == 0
    assert forks() == 1, "a fork at the end is one, whatever the agent can do besides"

    edited = run(catena, "--resume", id, "--edit", row(messages, "say three")["id"], "--json", "echo")
    assert heard(edited) == "say one|say two|echo"
    assert (edited.event("branch")["told"], edited.event("turn_started")["how"]) == (0, "forked_at")
    assert forks() == 1 + 2 + 1, "the impossible one, the plain one, and then the one that was wanted"

    at = run(catena, "--resume", id, "--at", row(messages, "one")["id"], "--json", "echo")
    assert heard(at) == "say one|echo"
    assert forks() == 5, "it is known of this version now"
