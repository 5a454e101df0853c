"""Outline of an export: its messages as passages between the places where its branches part."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catena_store.database import rows
from catena_store.database.database import Reader
from catena_store.exchange.exporting import ExportSelection
from catena_store.records import Message

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Passage:
    """Messages that follow one another without a branch between them; a prompt begins one.

    ``above`` is the passage that it hangs from, by its place in the outline, and ``versions`` are the passages that
    hang from the same message, itself included, by age.
    """

    place: int
    above: int | None
    versions: tuple[int, ...]
    conversation_id: str
    messages: array[int]  # by row number
    prompts: bool = False  # it begins with a prompt


@dataclass(slots=True)
class _Draft:
    parent: int | None  # row
    conversation_id: str
    prompts: bool
    messages: array[int]


async def read_outline(r: Reader, selected: ExportSelection) -> list[Passage]:
    """The passages of a selection in reading order: each below the one that it hangs from, versions by age."""
    drafts: list[_Draft] = []
    ends: dict[int, _Draft] = {}  # by the last row of a passage so far
    # How many rows hang from one, of those that more than one hangs from.
    children: dict[int | None, int] = {}
    counted: dict[int | None, bool] = {}
    found: list[tuple[int, int | None, bool, str]] = []
    for at in range(0, len(selected.messages), _PAGE):
        found += await r.all(
            f"SELECT m.id, m.parent_id, {rows.IS_PROMPT}, m.conversation_id FROM json_each(?)"
            " CROSS JOIN message m ON m.id = value ORDER BY m.id",
            (json.dumps(list(selected.messages[at : at + _PAGE])),),
        )
    for _, parent, *_ in found:
        if parent in counted:
            children[parent] = children.get(parent, 1) + 1
        counted[parent] = True
    for id, parent, is_prompt, conversation in found:
        draft = ends.pop(parent, None) if parent is not None else None
        if draft is None or is_prompt or parent in children:
            draft = _Draft(parent, conversation, bool(is_prompt), array("q"))
            drafts.append(draft)
        draft.messages.append(id)
        ends[id] = draft
    return list(_ordered(drafts))


def _ordered(drafts: Sequence[_Draft]) -> Iterator[Passage]:
    below: dict[int | None, list[_Draft]] = {}
    for draft in drafts:
        below.setdefault(draft.parent, []).append(draft)
    order: list[_Draft] = []
    waiting = below.get(None, [])[::-1]
    while waiting:
        draft = waiting.pop()
        order.append(draft)
        waiting += below.get(draft.messages[-1], [])[::-1]
    place_of = {id(draft): place for place, draft in enumerate(order)}
    holder = {draft.messages[-1]: place for place, draft in enumerate(order)}
    versions = {parent: tuple(place_of[id(each)] for each in drafts) for parent, drafts in below.items()}
    for place, draft in enumerate(order):
        yield Passage(
            place=place,
            above=None if draft.parent is None else holder.get(draft.parent),
            versions=versions[draft.parent],
            conversation_id=draft.conversation_id,
            messages=draft.messages,
            prompts=draft.prompts,
        )


async def read_messages(r: Reader, passages: Sequence[Passage]) -> list[list[Message]]:
    """The messages of passages, oldest first, those of each in a list of its own."""
    found = await r.all(
        f"SELECT m.id, {rows.MESSAGE} FROM json_each(?) CROSS JOIN message m ON m.id = value",
        (json.dumps([id for passage in passages for id in passage.messages]),),
    )
    of = {row[0]: rows.message(row[1:]) for row in found}
    return [[of[id] for id in passage.messages if id in of] for passage in passages]
