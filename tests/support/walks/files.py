"""Conversations that change the files of one directory, a person in it, and deaths, beside a model of the files.

Each act is done in the real store with real snapshots, by the program's own layers or by a front, and in the model;
``check`` compares the whole work tree, and which turns are in it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import aiosqlite
import pytest

from catena.cli.files import files as files_command
from catena.cli.run.branch import BranchRequest, open_target
from catena.linear.commands.prompts import choose_files, offer_files
from catena_acp.conversation.conversation import Conversation
from catena_acp.conversation.conversations.undo import ConversationUndo, Scope
from catena_acp.conversation.prompts.window import Window
from catena_acp.errors import AgentError, FilesHalfMoved
from catena_acp.snapshots import restoring as bringing
from catena_acp.snapshots.keeping import FileSnapshots
from catena_acp.snapshots.restoring import FileChoice, RestorePlan
from catena_acp.snapshots.scope import SnapshotScope
from catena_store.conversations import conversations
from catena_store.database.database import Database
from catena_store.errors import StoreError
from catena_store.ids import to_milliseconds
from catena_store.records import AgentGroup
from catena_store.snapshots import files_place, restoring
from catena_store.snapshots import repository as snapshot_repository
from catena_store.snapshots.repository import SnapshotRepository, snapshots_beside
from catena_store.snapshots.restoring import RestoreStep
from catena_store.snapshots.trees import blob_id
from catena_store.windows import windows
from support.agents.model import Running, Upstream
from support.storage.work_trees import GIT
from support.walks.client import Client, Crash
from support.walks.files_model import FilesModel, Node, Side, Step, Tree, changes
from support.walks.loop import StraightConnection
from support.walks.oracle import File

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_TOKEN = re.compile(r"\bp\d+z\b")
PATHS = ("a", "b", "c", "d/e", "d/f")

T = TypeVar("T")
Writes = dict[str, str | None]


@dataclass
class FilesAct:
    """An act of the journal that took files along: before it and after it."""

    before: Side
    after: Side


@dataclass
class Talk:
    """A conversation with one window."""

    id: str
    window_id: str
    model: FilesModel
    own: set[int] = field(default_factory=set)  # turns that it can go to
    acts: dict[int, FilesAct] = field(default_factory=dict)  # by the journal's ids


class Chooser:
    """As much of linear mode as asks what becomes of files; whoever answers takes one of the choices."""

    def __init__(self, window: Window, conversation: Conversation, number: int) -> None:
        self.settings = SimpleNamespace(files_follow=False)
        self.input = SimpleNamespace(terminal=True)
        self.tab: Any = SimpleNamespace(
            conversation=conversation, window=window, window_id=window.id, leaf_id=None
        )
        self.heard: list[str] = []
        self._number = number

    async def choose(self, title: str, words: Sequence[str], *, first: bool) -> int:
        self.heard = list(words)
        return self._number % len(words)

    def say(self, words: str) -> None:
        self.heard.append(words)


class FilesWalk:
    """Two conversations in a directory; each public coroutine is one thing that may happen."""

    def __init__(self, path: Path, project: Path, patches: pytest.MonkeyPatch) -> None:
        self.path = path
        self.project = project
        self.one_writer = asyncio.Lock()
        self.upstreams = {"A": Upstream("A", scene=self._works)}
        self.wrong: list[str] = []
        self.tree: Tree = {}
        self.talks: list[Talk] = []
        # Contents that were there once.
        self._seen: dict[str, list[str | None]] = {path: [None] for path in PATHS}
        self._changed_at: dict[str, int] = {}
        self._file = File(path)
        self._patches = patches
        self._numbers = itertools.count(1)
        self._owners = itertools.count(1)
        self._tokens = itertools.count(1)
        self._nodes: dict[str, int] = {}  # by prompt
        # What an agent does for a prompt; False: it does not end.
        self._work: dict[str, tuple[Writes, bool]] = {}
        self._running: dict[str, Running] = {}
        self._steps_until_death: int | None = None
        self._client: Client
        (project / ".git").mkdir(parents=True)

    # --- what clients need

    def new_id(self) -> str:
        return f"i{next(self._numbers):05}"

    def clock(self) -> datetime:
        return _EPOCH + timedelta(seconds=asyncio.get_running_loop().time())

    def start_time_of(self, pid: int) -> str | None:
        living = self._client.owner
        return living.started if pid == living.pid and not self._client.dead else None

    async def end_group(self, group: AgentGroup) -> bool:
        return True

    def violate(self, what: str) -> None:
        self.wrong.append(what)

    # --- beginning and end

    async def start(self) -> None:
        """A client with two conversations in the directory, and some files of the person's."""
        self._patches.setattr(files_command, "Database", SimpleNamespace(open=self._opened))
        self._patches.setattr(files_command, "default_path", lambda: self.path)
        self._patches.setattr(files_command, "utc_now", self.clock)
        self._patches.setattr(bringing, "restore", self._restore)
        # By the walk's time, which the disk does not know.
        self._patches.setattr(
            snapshot_repository,
            "_stands_since",
            lambda root, path, moment: self._changed_at.get(path, 0) <= moment,
        )
        self._write({"a": self._content("a"), "d/e": self._content("d/e")})
        self._start_client()
        async with self._client.db.write() as tx:
            for id in ("c1", "c2"):
                await conversations.create(tx, id=id, agent="A", cwd=str(self.project))
                await windows.open(tx, id=f"w{id}", conversation_id=id, leaf_id=None)
                self.talks.append(Talk(id, f"w{id}", FilesModel(self.tree)))

    async def close(self) -> None:
        if not self._client.dead:
            self._client.crash()
        await self._client.bury()
        self._file.close()

    def _start_client(self) -> None:
        number = next(self._owners)
        self._client = Client(self, 1, number)
        snapshots = FileSnapshots(
            self._client.db,
            snapshots_beside(self.path),
            GIT,
            SnapshotScope.REPOSITORIES,
            clock=self.clock,
            monotonic=asyncio.get_running_loop().time,
            home=self.path / "home",
        )
        object.__setattr__(self._client.services, "snapshots", snapshots)

    @asynccontextmanager
    async def _opened(self, path: Path) -> AsyncIterator[Database]:
        """The store as another process opens it."""
        connection = StraightConnection(path, self.one_writer)
        try:
            yield Database(cast("aiosqlite.Connection", connection), path, self.clock)
        finally:
            connection.close()

    # --- turns

    async def say(self, n: int, seed: int) -> None:
        """A prompt is answered."""
        talk = self._talk(n)
        before, here = dict(self.tree), self._here(talk)
        text = self._prompt(seed)
        await self._in(self._sent(talk, lambda window: window.say(text)))
        self._ended(talk, text, here, before)

    async def edit(self, n: int, m: int, seed: int, front: str, number: int) -> None:
        """A prompt is said in other words, or again; with files or without."""
        talk = self._talk(n)
        if (node := self._node_of(talk, m)) is None:
            return
        target = talk.model.turns[node].parent
        choice, taken = await self._chosen(talk, target, front, number)
        text = self._prompt(seed)
        known = self._journal()
        sides = talk.model.go(target, taken) if choice else None
        before = dict(self.tree)
        if front == "run":
            await self._in(self._ran(talk, BranchRequest(edit=self._row(node), files=choice), text))
        else:
            row = self._row(node)
            await self._in(self._sent(talk, lambda window: window.edit(row, text, choice=choice)))
            self._note(talk, known, sides)
        self._ended(talk, text, target, before)

    async def beside(self, seed: int, other: int) -> None:
        """While a turn of one conversation runs, the other one's begins and ends."""
        first, second = self.talks[:2]
        before, here = dict(self.tree), self._here(first)
        text = self._prompt(seed, ends=False)
        window = await self._window(first)
        await self._in(window.say(text))
        await asyncio.sleep(1)
        between, there = dict(self.tree), self._here(second)
        words = self._prompt(other)
        await self._in(self._sent(second, lambda window: window.say(words)))
        await asyncio.sleep(1)
        theirs = set(changes(between, self.tree))
        self._ended(second, words, there, between, unsure=theirs)
        self._end_running(text)
        await self._in(self._settled(first))
        self._ended(first, text, here, before, unsure=theirs)

    async def killed_turn(self, n: int, seed: int, persons: int) -> None:
        """The client is killed in a turn, and the person goes on in the directory before it is started again."""
        talk = self._talk(n)
        before, here = dict(self.tree), self._here(talk)
        text = self._prompt(seed, ends=False)
        window = await self._window(talk)
        await self._in(window.say(text))
        await asyncio.sleep(1)
        at_death = dict(self.tree)
        await self._restart(persons)
        self._ended(talk, text, here, before, unsure=changes(at_death, self.tree))

    # --- going

    async def go(self, n: int, m: int, front: str, number: int) -> None:
        """A rewind, with files or without; or to another version, where files are offered afterwards."""
        talk = self._talk(n)
        if (node := self._node_of(talk, m)) is None:
            return
        row, known = self._end(node), self._journal()
        if front == "run":
            window = await self._window(talk)
            await self._in(window.go_to(row))
            await self._bring(talk, number)
            return
        choice, taken = await self._chosen(talk, node, front, number)
        window = await self._window(talk)
        await self._in(window.rewind(row, choice=choice))
        self._note(talk, known, talk.model.go(node, taken) if choice else None)

    async def _bring(self, talk: Talk, number: int) -> None:
        """What stayed behind is offered by linear mode."""
        known, here = self._journal(), self._here(talk)
        steps, window = talk.model.plan(here), await self._window(talk)
        chooser = Chooser(window, await self._conversation(talk), number)
        chooser.tab.leaf_id = self._leaf(talk)
        plan = await self._planned(talk, here)
        self._compare(talk, plan, steps)
        before = self._disk()
        await self._in(offer_files(cast("Any", chooser), chooser.tab))
        if plan is None or not (plan.free or plan.conflicts):
            return
        at = number % (1 + bool(plan.free) + bool(plan.conflicts))
        if at == 0:
            return
        every = at == 2 or not plan.free
        taken = [step.path for step in plan.steps if step.conflict is None or every]
        self._note(talk, known, talk.model.go(here, taken))
        if set(changes(before, self._disk())) != set(taken):
            self.violate(f"{sorted(changes(before, self._disk()))} came along, not {sorted(taken)}")

    async def undo(self, n: int, again: bool) -> None:
        """`/undo`, or `/redo`."""
        talk = self._talk(n)
        known, window = self._journal(), await self._window(talk)
        undoing = ConversationUndo(self._client.db, self._client.served)
        scope = Scope(window.id, None)
        step = await self._in(undoing.redo(scope) if again else undoing.undo(scope))
        toggled = [
            id for id, (undone, _) in self._journal().items() if undone != known.get(id, (undone, ""))[0]
        ]
        for id in sorted(toggled, reverse=not again):
            if (act := talk.acts.get(id)) is None:
                continue
            then, since = (act.after, act.before) if again else (act.before, act.after)
            steps = talk.model.plan_return(then, since)
            done = step.files.done if step and step.files and step.entry.id == id else ()
            self._judge(talk, {each.path: each for each in done}, steps)
            present = talk.model.go_back(then, [each.path for each in done], steps)
            talk.acts[id] = FilesAct(present, act.after) if again else FilesAct(act.before, present)

    async def restore(self, n: int, m: int, named: bool, of_all: bool, number: int) -> None:
        """`catena files --at MESSAGE --restore --yes`, of all files or of one; at a prompt or at a turn's end."""
        talk = self._talk(n)
        if (node := self._node_of(talk, m)) is None:
            return
        target = talk.model.turns[node].parent if named else node
        row = self._row(node) if named else self._end(node)
        steps = talk.model.plan(target)
        paths = [] if of_all or not steps else [sorted(steps)[number % len(steps)]]
        found = await self._in(files_command._restore(talk.id, row, paths, yes=True))
        if found is None:
            return
        plan, chosen, _ = found
        self._compare(talk, plan, steps, more=True)
        taken = [step.path for step in chosen]
        for other in self.talks:
            if other is not talk:
                other.model.strange |= set(taken)
        if paths:
            for step in chosen:
                self._take(talk, step, steps)
        else:
            talk.model.go(target, taken)

    async def killed_going(self, n: int, m: int, number: int, done: int, finished: bool, front: bool) -> None:
        """The client is killed while files go along with an edit; the next one finishes it, or takes it back."""
        talk = self._talk(n)
        if (node := self._node_of(talk, m)) is None:
            return
        target = talk.model.turns[node].parent
        choice, taken = await self._chosen(talk, target, "rewind", number)
        if choice is None or not taken:
            return
        known, self._steps_until_death = self._journal(), done % (len(taken) + 1)
        row, text = self._row(node), self._prompt(number)
        window = await self._window(talk)
        await self._in(window.edit(row, text, choice=choice))
        await self._restart(None)
        window = await self._window(talk)
        cut = await window.files.cut()
        if cut is None:
            self.violate("nothing is known of the change of files that was cut off")
            return
        try:
            await window.say(self._prompt(number))
            self.violate("a prompt was sent on half moved files")
        except FilesHalfMoved:
            pass
        ending = files_command.RestoreEnding.FINISH if finished else files_command.RestoreEnding.UNDO
        await self._in(
            files_command._end(talk.id, ending) if front else window.end_cut(cut, finished=finished)
        )
        if finished:
            self._note(talk, known, talk.model.go(target, taken))

    async def fork(self, n: int, m: int) -> None:
        """A fork of a conversation in the same directory, in a window of its own."""
        talk = self._talk(n)
        if len(self.talks) > 3 or (node := self._node_of(talk, m)) is None:
            return
        source = await self._conversation(talk)
        forked = await self._in(
            self._client.served.fork(source, window_id=talk.window_id, at=self._end(node))
        )
        if forked is not None:
            model = FilesModel(self.tree, talk.model.turns)
            model.inside, model.strange = talk.model.inside, set(talk.model.strange)
            self.talks.append(Talk(forked.conversation.id, forked.window.id, model, set(model.above(node))))

    # --- the person

    async def person(self, seed: int) -> None:
        """The person writes, deletes, or puts back what was there once, as `git checkout` does."""
        writes = self._writes(seed)
        path = PATHS[seed % len(PATHS)]
        if seed % 3 == 0:
            writes[path] = self._seen[path][seed // 7 % len(self._seen[path])]
        self._by_somebody(writes, None)

    # --- judging

    async def check(self) -> None:
        """Compare the whole work tree with the model, and which turns the store takes to be in it."""
        await self._quiet()
        disk = self._disk()
        if disk != self.tree:
            self.violate(f"the files are {disk}, not {self.tree}")
        async with self._client.db.read() as reader:
            for talk in self.talks:
                leaves = await files_place.of_window(reader, talk.window_id)
                inside = {
                    self._nodes[row.id]
                    for leaf in leaves
                    for row in self._file.branch(leaf)
                    if row.id in self._nodes
                }
                if inside != talk.model.inside:
                    self.violate(
                        f"{sorted(inside)} are in the files of {talk.id}, not {sorted(talk.model.inside)}"
                    )

    def _compare(
        self, talk: Talk, plan: RestorePlan | None, steps: Mapping[str, Step], *, more: bool = False
    ) -> None:
        """A plan is the model's; ``more`` may be named that an earlier way left."""
        found = {step.path: step for step in plan.steps} if plan else {}
        if more:
            found = {path: step for path, step in found.items() if path in steps or step.conflict is None}
        if found.keys() != steps.keys():
            self.violate(f"{sorted(found)} would change, not {steps}")
        self._judge(talk, {path: step for path, step in found.items() if step.conflict is None}, steps)
        for path in found.keys() & steps.keys():
            wanted = found[path].wanted
            if (wanted.blob if wanted else None) != _blob(steps[path].then):
                self.violate(f"{path} would not become {steps[path].then!r}")

    def _judge(self, talk: Talk, free: Collection[str], steps: Mapping[str, Step]) -> None:
        """What is taken unnamed is surely the turns', and what is surely theirs is taken."""
        for path in free:
            if path not in steps or steps[path].doubt:
                self.violate(f"{path} is not surely of {talk.id}, and taken: {steps.get(path)}")
        for path, step in steps.items():
            if not step.doubt and path not in free and path not in talk.model.strange:
                self.violate(f"{path} is surely of {talk.id}, and left: {step}")

    # --- within

    async def _chosen(
        self, talk: Talk, target: Node, front: str, number: int
    ) -> tuple[FileChoice | None, list[str]]:
        """What is chosen of a plan, by linear mode or else, and the paths that are taken by it."""
        steps, plan = talk.model.plan(target), await self._planned(talk, target)
        self._compare(talk, plan, steps)
        if plan is None:
            return None, []
        if front == "lines":
            window = await self._window(talk)
            chooser = Chooser(window, await self._conversation(talk), number)
            leaf = None if target is None else self._end(target)
            choice = await choose_files(cast("Any", chooser), chooser.tab, leaf)
            for step in plan.conflicts[:3]:
                if not all(step.path in words for words in chooser.heard[1:]):
                    self.violate(f"{step.path} is not named by {chooser.heard}")
        else:
            also = frozenset(step.path for step in plan.conflicts if (number + len(step.path)) % 3 == 0)
            choice = (None, FileChoice(), FileChoice(also))[number % 3]
        return choice, [] if choice is None else [step.path for step in plan.chosen(choice)]

    async def _planned(self, talk: Talk, target: Node) -> RestorePlan | None:
        window = await self._window(talk)
        return await self._in(window.files.plan(window.id, None if target is None else self._end(target)))

    async def _ran(self, talk: Talk, request: BranchRequest, text: str) -> None:
        conversation = await self._conversation(talk)
        spec = self.upstreams["A"].spec
        async with open_target(self._client.served, self._client.db, conversation, request, spec) as target:
            window = conversation.window(target.window_id)
            assert target.branch is not None and target.branch.edited_id is not None
            await window.edit(target.branch.edited_id, text, choice=request.files)
            await window.settled()

    async def _restart(self, persons: int | None) -> None:
        """The client is killed; somebody may go on in the directory before the next one."""
        if not self._client.dead:
            self._client.crash()
        await self._client.bury()
        self._steps_until_death = None
        await asyncio.sleep(300)
        if persons is not None and persons % 2:
            self._by_somebody(self._writes(persons), None)
        self._start_client()
        for talk in self.talks:
            await self._conversation(talk)
        await self._quiet()

    def _restore(
        self, repository: SnapshotRepository, steps: Iterable[RestoreStep], **more: Any
    ) -> list[RestoreStep]:
        left, self._steps_until_death = self._steps_until_death, None
        if left is None:
            return restoring.restore(repository, steps, **more)
        restoring.restore(repository, sorted(steps, key=lambda step: step.path)[:left])
        self._client.crash()
        raise Crash

    def _ended(self, talk: Talk, text: str, parent: Node, before: Tree, unsure: Iterable[str] = ()) -> None:
        """A turn ended; what it changed is someone else's for the others."""
        found = self._file.one("SELECT uid FROM message WHERE text = ? AND kind = 'user'", text)
        if found is None:
            self.violate(f"{text} is not in the store")
            return
        node = int(text[1:-1])
        self._nodes[str(found[0])] = node
        talk.model.turn(node, parent, before, unsure)
        talk.own.add(node)
        for other in self.talks:
            if other is not talk:
                other.model.strange |= set(talk.model.turns[node].changed)

    def _note(
        self, talk: Talk, known: Mapping[int, tuple[int, str]], sides: tuple[Side, Side] | None
    ) -> None:
        """Note the files of the act whose line of the journal has them since ``known``."""
        if sides is None:
            return
        for other in self.talks:
            if other is not talk:
                other.model.strange |= set(changes(sides[0].tree, sides[1].tree))
        for id, (undone, after) in self._journal().items():
            had = "files" in json.loads(known[id][1]) if id in known else False
            if "files" in json.loads(after) and not had:
                talk.acts[id] = FilesAct(*(sides[::-1] if undone else sides))

    def _journal(self) -> dict[int, tuple[int, str]]:
        """Each act: whether it is undone, and what was after it."""
        found = self._file.all("SELECT id, undone, after FROM journal ORDER BY id")
        return {cast("int", id): (cast("int", undone), str(after)) for id, undone, after in found}

    def _take(self, talk: Talk, step: RestoreStep, steps: Mapping[str, Step]) -> None:
        if step.path in steps:
            self._to_model({step.path: steps[step.path].then})

    def _works(self, running: Running) -> None:
        """The agent does what was planned for a prompt."""
        token = _TOKEN.findall(running.texts[-1])[-1]
        writes, ends = self._work[token]
        self._write(writes)
        running.say("heard")
        if ends:
            running.end()
        else:
            self._running[token] = running

    def _end_running(self, token: str) -> None:
        self._running.pop(token).end()

    def _prompt(self, seed: int, *, ends: bool = True) -> str:
        token = f"p{next(self._tokens)}z"
        self._work[token] = self._writes(seed), ends
        return token

    def _writes(self, seed: int) -> Writes:
        """One to three paths, written or deleted."""
        chosen = {PATHS[(seed + step * (seed % 4)) % len(PATHS)] for step in range(1 + seed % 3)}
        return {
            path: None if (seed // 11 + len(path)) % 4 == 0 else self._content(path)
            for path in sorted(chosen)
        }

    def _content(self, path: str) -> str:
        return f"{path} {next(self._numbers)}\n"

    def _by_somebody(self, writes: Writes, talk: Talk | None) -> None:
        for each in self.talks:
            each.model.strange |= set(writes)
        self._write(writes)

    def _write(self, writes: Writes) -> None:
        """Write on the disk and in the model."""
        for path, content in writes.items():
            place = self.project / path
            self._changed_at[path] = to_milliseconds(self.clock())
            if content is None:
                place.unlink(missing_ok=True)
                continue
            place.parent.mkdir(exist_ok=True)
            place.write_text(content)
            self._seen[path].append(content)
        self._to_model(writes)

    def _to_model(self, writes: Writes) -> None:
        for path, content in writes.items():
            if content is None:
                self.tree.pop(path, None)
            else:
                self.tree[path] = content

    def _disk(self) -> Tree:
        return {
            path.relative_to(self.project).as_posix(): path.read_text()
            for path in self.project.rglob("*")
            if path.is_file()
        }

    async def _sent(self, talk: Talk, sending: Callable[[Window], Coroutine[Any, Any, None]]) -> None:
        window = await self._window(talk)
        await sending(window)
        await window.settled()

    async def _settled(self, talk: Talk) -> None:
        await (await self._window(talk)).settled()

    async def _conversation(self, talk: Talk) -> Conversation:
        found = await self._in(self._client.served.open(talk.id))
        assert found is not None, self.wrong
        return found

    async def _window(self, talk: Talk) -> Window:
        return (await self._conversation(talk)).window(talk.window_id)

    async def _quiet(self) -> None:
        snapshots = self._client.services.snapshots
        assert snapshots is not None
        await snapshots.settled()

    async def _in(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Do it in the client, to its end; nothing comes of it where that dies."""
        found: list[T] = []

        async def done() -> None:
            try:
                found.append(await work)
            except (StoreError, AgentError, AssertionError) as error:
                if not self._client.dead:
                    self.violate(repr(error))
            except Crash:
                pass

        await asyncio.wait({self._client.begin(done())}, timeout=600)
        return found[0] if found else None

    def _talk(self, n: int) -> Talk:
        return self.talks[n % len(self.talks)]

    def _node_of(self, talk: Talk, n: int) -> int | None:
        known = sorted(talk.own)
        return known[n % len(known)] if known else None

    def _leaf(self, talk: Talk) -> str | None:
        return self._file.leaf(talk.window_id)

    def _here(self, talk: Talk) -> Node:
        """The turn at which a window stands."""
        branch = self._file.branch(self._leaf(talk))
        return next((self._nodes[row.id] for row in reversed(branch) if row.id in self._nodes), None)

    def _row(self, node: int) -> str:
        return next(row for row, each in self._nodes.items() if each == node)

    def _end(self, node: int) -> str:
        """The newest row of a turn."""
        row = self._row(node)
        while found := self._file.one(
            "SELECT m.uid FROM message m JOIN message p ON p.id = m.parent_id"
            " WHERE p.uid = ? AND m.kind <> 'user' ORDER BY m.id DESC LIMIT 1",
            row,
        ):
            row = str(found[0])
        return row


def _blob(content: str | None) -> str | None:
    return None if content is None else blob_id(content.encode())
