"""The conversations that are in the store before a scene begins: some weeks of work on a shop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

from catena_store.conversations import conversations, messages
from catena_store.database.database import Database
from catena_store.finding import history
from catena_store.records import Kind, NewMessage

_LOGIN = (
    "What does the login view do?",
    "It binds `LoginForm`, signs the person in, and redirects to `next`. The target comes from the query string, or "
    "is the front page.",
    "Which tests cover it?",
    "Three of them, and none signs in with a target.",
)
_FINDING = (
    "The login form loses the next parameter. Find out why.",
    "On a POST the query string is empty, so `next` always fell back to `/`. The form has to carry it.",
)
_ENDING = (
    "Add the hidden field, and a test for it. Make sure that nobody is sent to another site by it.",
    "The field is in the template. The form has to know it too, and to check it: an address of another site must not "
    "get through `next`.",
)


@dataclass(frozen=True, slots=True)
class Kept:
    """One conversation; its texts are prompts and answers in turn."""

    title: str
    agent: str
    ago: timedelta
    texts: tuple[str, ...]
    further: tuple[tuple[str, ...], ...] = ()  # other versions of the last exchange, newer ones last
    unread: bool = False
    pinned: bool = False
    length: int = field(default=0)  # messages above the texts, which nobody looks at


_DAY, _HOUR, _MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
SHOP = (
    Kept("fix the login", "claude", 17 * _MINUTE, _LOGIN, (_FINDING, _ENDING), unread=True),
    Kept(
        "cart keeps the voucher",
        "codex",
        46 * _MINUTE,
        ("The voucher stays in the cart. Why?", "The next request finds the voucher used up, and keeps it."),
        length=21,
    ),
    Kept(
        "release notes",
        "claude",
        15 * _HOUR,
        ("Write the release notes.", "What is next: payments by invoice, and a search that forgives a typo."),
        length=6,
    ),
    Kept(
        "docs for the settings",
        "codex",
        22 * _HOUR,
        ("Describe the settings.", "I put the next steps at the end of each page."),
        (("Describe them shortly.", "One page for all of them."),),
        length=8,
    ),
    Kept(
        "upgrade to Django 5",
        "claude",
        4 * _DAY,
        ("Upgrade to Django 5.", "Two settings are deprecated in the next release; change them now."),
        unread=True,
        length=129,
    ),
    Kept(
        "why is the test run slow",
        "opencode",
        11 * _DAY,
        ("Why are the tests slow?", "Because the next fixture builds the catalogue again."),
        length=32,
    ),
    Kept(
        "rename Basket to Cart",
        "claude",
        20 * _DAY,
        ("Rename Basket to Cart.", "Done, but the next migration has to keep the old name."),
        length=44,
    ),
    Kept(
        "invoices as PDF",
        "codex",
        27 * _DAY,
        ("Make a PDF of an invoice.", "The logo goes on the next page where the table is long."),
        length=86,
    ),
    Kept(
        "a smaller image for the container",
        "claude",
        43 * _DAY,
        ("The image is too large.", "What is worth doing next: the build stage."),
        length=17,
    ),
)


async def keep(database: Database, directory: str, *, now: datetime, new_id: Callable[[], str]) -> None:
    """Write them, as if each had been held at its time."""
    for kept in reversed(SHOP):
        at = now - kept.ago
        ticks = count()

        def new(
            parent: str | None, kind: Kind, text: str, id: str, at: datetime = at, ticks: count[int] = ticks
        ) -> NewMessage:
            made = at - timedelta(minutes=20) + timedelta(seconds=next(ticks))
            return NewMessage(new_id(), id, parent, kind, text, created_at=made)

        async with database.write() as tx:
            id = (
                await conversations.create(tx, id=new_id(), agent=kept.agent, cwd=directory, title=kept.title)
            ).id
            rows: list[NewMessage] = []
            parent = None
            texts = [*(f"Step {number}." for number in range(kept.length + kept.length % 2)), *kept.texts]
            for number, text in enumerate(texts):
                rows.append(new(parent, Kind.AGENT if number % 2 else Kind.USER, text, id))
                parent = rows[-1].id
            above = rows[-3].id if len(rows) > 2 else None
            for question, answer in kept.further:
                rows.append(new(above, Kind.USER, question, id))
                rows.append(new(rows[-1].id, Kind.AGENT, answer, id))
            await messages.insert_many(tx, rows)
            await history.mark_seen(tx, id, rows[0].id if kept.unread else rows[-1].id)
            await conversations.set_pinned(tx, id, kept.pinned)
            await conversations.set_times(tx, id, at - timedelta(minutes=20), at)
