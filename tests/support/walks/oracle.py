"""What must hold, judged by what the model agent heard and by the rows in the file, never by the client's memory."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.agents.model import GREETING, LiveCopy, ModelAgent, Profile

TOKEN = re.compile(r"\b[uat]\d+z\b")
_CONTENT = ("user", "agent", "tool")


def tokens_of(texts: Iterable[str]) -> set[str]:
    """The tokens in some texts."""
    return {token for text in texts for token in TOKEN.findall(text)}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the tree."""

    id: str
    kind: str
    turn_id: str | None
    text: str
    barrier: bool


@dataclass(frozen=True, slots=True)
class Delivery:
    """A prompt that reached a session."""

    turn_id: str
    prompt_id: str
    window_id: str
    conversation_id: str
    link_id: str
    link_state: str
    link_conversation_id: str
    unabridged_from: str | None
    told: int


@dataclass(frozen=True, slots=True)
class Birth:
    """Where a token that an agent made comes from."""

    prompt_id: str
    turn_id: str


class File:
    """The store, read behind the client's back."""

    def __init__(self, path: Path) -> None:
        self._sqlite = sqlite3.connect(path, isolation_level=None)

    def close(self) -> None:
        self._sqlite.close()

    def all(self, sql: str, *parameters: object) -> list[tuple[object, ...]]:
        return self._sqlite.execute(sql, parameters).fetchall()

    def one(self, sql: str, *parameters: object) -> tuple[object, ...] | None:
        found = self._sqlite.execute(sql, parameters).fetchone()
        return tuple(found) if found else None

    def branch(self, leaf: str | None) -> list[Row]:
        """From the root to the leaf, whatever barriers there are."""
        found = self._sqlite.execute(
            "WITH RECURSIVE b (id, parent_id, n) AS (SELECT id, parent_id, 0 FROM message WHERE uid = ?"
            " UNION ALL SELECT m.id, m.parent_id, n + 1 FROM b JOIN message m ON m.id = b.parent_id)"
            " SELECT m.uid, m.kind, m.turn_id, m.text, m.barrier FROM b JOIN message m ON m.id = b.id ORDER BY n DESC",
            (leaf,),
        ).fetchall()
        return [Row(id, kind, turn_id, text, bool(barrier)) for id, kind, turn_id, text, barrier in found]

    def path(self, leaf: str | None) -> list[Row]:
        """The same from after the last barrier."""
        branch = self.branch(leaf)
        start = max((at for at, row in enumerate(branch, 1) if row.barrier), default=0)
        return branch[start:]

    def leaf(self, window_id: str) -> str | None:
        found = self.one(
            "SELECT m.uid FROM window w JOIN message m ON m.id = w.leaf_id WHERE w.id = ?", window_id
        )
        return str(found[0]) if found else None

    def rows_of_tokens(self) -> dict[str, set[str]]:
        """Which rows hold a token."""
        rows: dict[str, set[str]] = {}
        for uid, text in self._sqlite.execute("SELECT uid, text FROM message"):
            for token in TOKEN.findall(text):
                rows.setdefault(token, set()).add(uid)
        return rows

    def delivery(self, agent: str, session_id: str, window_ids: Sequence[str]) -> Delivery | None:
        """The turn that was claimed, in one of these windows, for what now reaches a session.

        Another client may have closed it, or lost its link, while ours slept between the claim and the prompt.
        """
        found = self._sqlite.execute(
            "SELECT t.id, p.uid, t.window_id, t.conversation_id, l.id, l.state, l.conversation_id, w.uid, t.told"
            " FROM turn t JOIN link l ON l.id = t.link_id JOIN message p ON p.id = t.prompt_id"
            " LEFT JOIN message w ON w.id = t.whole_id"
            " WHERE l.agent = ? AND l.session_id = ? AND t.window_id IN (SELECT value FROM json_each(?))"
            "   AND (t.stop_reason IS NULL OR t.stop_reason = 'interrupted')"
            " ORDER BY t.stop_reason IS NOT NULL, t.started_at DESC, t.rowid DESC LIMIT 1",
            (agent, session_id, json.dumps(list(window_ids))),
        ).fetchall()
        return Delivery(*found[0]) if found else None


def judge_delivery(
    file: File,
    delivery: Delivery,
    agent: ModelAgent,
    live: LiveCopy,
    texts: tuple[str, ...],
    births: dict[str, Birth],
    noise: set[str],
) -> Iterable[str]:
    """What is wrong with a prompt at the moment it reaches its session: (1) no gap, (2) no stranger, (3) not parked."""
    path = file.path(delivery.prompt_id)
    on_path = {row.id for row in path}
    held = tokens_of([*(said.text for said in live.content), *texts])
    shown = " ".join(f"{row.kind}:{','.join(TOKEN.findall(row.text))}" for row in path)
    start = next((at for at, row in enumerate(path) if row.id == delivery.unabridged_from), 0)
    fickle = agent.upstream.profile.changes_mind is not None
    assumed = (
        {turn for (turn,) in file.all("SELECT id FROM turn WHERE kept IS NOT NULL")} if fickle else set()
    )
    commanded = False  # the row is of a turn whose prompt was a command
    for at, row in enumerate(path):
        commanded = row.text.startswith("/") if row.kind == "user" else commanded
        if at < start:
            continue
        if (row.kind == "tool" or commanded) and live.session_id in agent.upstream.spoilt:
            continue  # a replay is compared by what was said, and a command proves nothing in it
        if row.turn_id in assumed:
            continue  # it was believed, until a replay shows less
        missing = tokens_of([row.text]) - held - noise
        if row.kind in _CONTENT and missing:
            yield f"P1: {row.kind} {sorted(missing)} of [{shown}] is unknown to {live.session_id}: {sorted(held)}"
    rows_of = file.rows_of_tokens()
    for token in sorted(held):
        rows = rows_of.get(token)
        if rows:
            if not rows & on_path:
                yield f"P2: {token} in {live.session_id} is not on [{shown}]"
            continue
        birth = births.get(token)
        if birth is None or birth.prompt_id not in on_path:
            yield f"P2: {token} in {live.session_id}, which nobody saw, answers nothing on [{shown}]"
        elif birth.prompt_id != delivery.prompt_id and _has_rival(path, birth):
            yield f"P2: {token} in {live.session_id}, which nobody saw, stands beside the answer on [{shown}]"
    if delivery.link_state == "parked":
        yield "P3: a parked link was prompted"


def _has_rival(path: list[Row], birth: Birth) -> bool:
    """True where another turn's answer follows the prompt."""
    at = next(at for at, row in enumerate(path) if row.id == birth.prompt_id)
    for row in path[at + 1 :]:
        if row.kind == "user":
            return False
        if row.kind == "agent" and row.turn_id not in (None, birth.turn_id):
            return True
    return False


def judge_company(file: File, delivery: Delivery, live: LiveCopy, beside: Sequence[str]) -> Iterable[str]:
    """What is wrong with who uses the session: (6) it is one window's, in one conversation, one turn at a time.

    ``beside`` are the other windows of the conversation that are open in the same client.
    """
    if live.running and not live.running.over:
        yield f"P6: {live.session_id} was prompted while a turn of it runs"
    if delivery.link_conversation_id != delivery.conversation_id:
        yield "P6: another conversation's link was prompted"
    before = file.one(
        "SELECT window_id FROM turn WHERE link_id = ? AND id <> ? AND stop_reason IS NOT 'not_sent'"
        " ORDER BY started_at DESC, rowid DESC LIMIT 1",
        delivery.link_id,
        delivery.turn_id,
    )
    if before and before[0] in beside:
        yield f"P6: {delivery.window_id} goes on in the session of {before[0]}"


def judge_telling(file: File, delivery: Delivery, profile: Profile, new_sessions: int) -> Iterable[str]:
    """What is wrong with what was told though nothing had happened that needs it: (5)."""
    still_learning = profile.faithful is None and not profile.replays
    if still_learning or not profile.reopens:
        return
    if delivery.told:
        yield f"P5: {delivery.told} messages were told, though nothing had happened"
    if new_sessions and len(file.path(delivery.prompt_id)) > 2:
        yield "P5: a second session, though nothing had happened"


def judge_file(file: File, texts: Iterable[str]) -> Iterable[str]:
    """What is wrong with the store at rest."""
    if file.all("PRAGMA integrity_check") != [("ok",)]:
        yield "P0: the file is damaged"
    if file.all("PRAGMA foreign_key_check"):
        yield "P0: a row points to nothing"
    for link_id, state, knows, reach, unabridged_from in file.all(
        "SELECT l.id, l.state, k.uid, r.uid, w.uid FROM link l LEFT JOIN message k ON k.id = l.knows"
        " LEFT JOIN message r ON r.id = l.reach LEFT JOIN message w ON w.id = l.whole"
    ):
        above = {row.id for row in file.branch(str(reach))} if reach else set()
        if state != "lost" and {knows, unabridged_from} - above - {None}:
            yield f"P0: link {link_id} knows {knows} and is unabridged from {unabridged_from}, but reaches {reach}"
    for turn_id, prompt, last in file.all(
        "SELECT t.id, p.uid, l.uid FROM turn t JOIN message p ON p.id = t.prompt_id JOIN message l ON l.id = t.last_id"
    ):
        if prompt not in {row.id for row in file.branch(str(last))}:
            yield f"P0: turn {turn_id} ends at {last}, which is not below its prompt {prompt}"
    if file.all("SELECT 1 FROM message WHERE turn_id IS NOT NULL AND link_id IS NULL"):
        yield "P0: a row of a turn is not stamped with its link"
    for token, rows in file.rows_of_tokens().items():
        if token[0] != "u" and len(rows) > 1:  # a prompt may be said again
            yield f"P11: {token} was said once, and stands in the rows {sorted(rows)}"
    if file.all(f"SELECT 1 FROM message WHERE text LIKE '%{GREETING}%' AND kind <> 'notice'"):
        yield "P10: what a session said before its first prompt is no notice"
    if file.all(
        "SELECT 1 FROM ability b JOIN link l ON l.agent = b.agent_name JOIN turn t ON t.link_id = l.id"
        " WHERE b.name = 'kept' AND t.kept IS NOT NULL AND t.ended_at > b.learnt_at"
    ):
        yield "P12: an agent was believed after it had shown less than was believed of it"
    kept = {str(text) for (text,) in file.all("SELECT text FROM input")}
    shown = {
        str(text)
        for (text,) in file.all(
            "SELECT text FROM message UNION SELECT draft FROM window_leaf UNION SELECT text FROM queue_item"
        )
    }
    for text in texts:
        if text not in kept or text not in shown:
            yield f"P0: what was typed is gone: {text!r}"
