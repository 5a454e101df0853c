"""Which version of a prompt one is: the transcript, the tree and its text count alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from catena.cli.conversations.show import read_tree, tree_lines
from catena.workspace.tree_layout import TreeLayout
from catena_store.conversations import branches, tree
from catena_store.database.database import Writer
from catena_store.records import Kind, MessageState
from support.storage.rows import new_conversation, say, store


async def a_family(tx: Writer) -> None:
    """In `source` two versions of a prompt; in `fork`, which has the first of them, another one, and a refused one."""
    await new_conversation(tx, "source")
    await say(tx, "u1", None, conversation="source")
    await say(tx, "a1", "u1", conversation="source", kind=Kind.AGENT)
    for version in ("u2", "u2b"):
        await say(tx, version, "a1", conversation="source")
    await say(tx, "a2", "u2", conversation="source", kind=Kind.AGENT)
    await new_conversation(tx, "fork", family="source", fork_point_id="a2")
    await say(tx, "f1", "a2", conversation="fork")
    await say(tx, "f1b", "a2", conversation="fork")
    await say(tx, "no", "a1", conversation="fork", state=MessageState.REFUSED)
    await say(tx, "f2", "a1", conversation="fork")
    await say(tx, "within", "u1", conversation="fork")  # below the prompt itself, and not below its answer


@pytest.mark.parametrize(
    ("conversation", "expected"),
    [
        ("source", {"u2": (1, 2), "u2b": (2, 2)}),
        (
            "fork",
            {"u2": (1, 2), "no": (2, 3), "f2": (2, 2), "f1": (1, 2), "f1b": (2, 2)},
        ),
    ],
)
async def test_t01_versions_are_counted_alike_in_transcript_tree_and_text(
    tmp_path: Path, conversation: str, expected: dict[str, tuple[int, int]]
) -> None:
    async with store(tmp_path) as db:
        async with db.write() as tx:
            await a_family(tx)
        async with db.read() as reader:
            layout = TreeLayout(await tree.family_tree(reader, conversation, "u1"))
            own = sorted(layout.places.own)
            assert await branches.sibling_positions(reader, own, conversation) == expected
        assert {
            node.id: version for node in layout.places.nodes if (version := layout.version(node)) != (1, 1)
        } == expected
        numbered = re.findall(
            r"‹(\d)/(\d)›.*?(\w+)$", "\n".join(tree_lines(await read_tree(db, conversation))), re.MULTILINE
        )
        assert {id: (int(at), int(of)) for at, of, id in numbered} == expected
