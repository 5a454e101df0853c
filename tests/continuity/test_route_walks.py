"""Random walks: whatever people, agents and machines do, no session is prompted that should not have been.

A walk is made from its seed alone. ``CATENA_WALKS`` sets how many times as many are made.
"""

from __future__ import annotations

import asyncio
import gc
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest

from catena_acp.continuity.routing.prior_context import BEGIN, END
from support.agents.model import Profile
from support.walks.client import owned_task
from support.walks.length import walks
from support.walks.loop import VirtualTimeLoop
from support.walks.walking import empty_store
from support.walks.world import World

Act = tuple[str, tuple[object, ...]]

WALKS = walks(20)
_SEEDS = range(4)
_ACTS = 60


@dataclass(frozen=True, slots=True)
class Walk:
    """Two agents and what happens."""

    profiles: tuple[Profile, Profile]
    acts: tuple[Act, ...]


_PLAIN_LIES = (
    ("open", "gone"),
    ("open", "other"),
    ("fork", "same"),
    ("prompt", "refused"),
    ("prompt", "always refused"),
    ("prompt", "no more"),
)
_LIES_THAT_A_REPLAY_SHOWS = (("open", "empty"), ("open", "half"), ("fork", "empty"))

_BEGINNINGS = (
    "<div> is not closed:",
    "[Image of it]",
    "Caveat:",
    "[Request interrupted]",
    f"{BEGIN} means",
    f"{BEGIN}\n",
    BEGIN,
    END,
)

_ARGUMENTS: dict[str, tuple[int, Callable[[random.Random], tuple[object, ...]]]] = {
    "turn": (16, lambda r: (_n(r), _budget(r), r.random() < 0.2)),
    "send": (8, lambda r: (_n(r), r.choice([None, 0, 1, 2, 3, 4, 5, 6]), _budget(r), r.random() < 0.2)),
    "command": (3, lambda r: (_n(r),)),
    "odd_turn": (2, lambda r: (_n(r), r.choice(_BEGINNINGS))),
    "advance": (8, lambda r: (_n(r), r.choice([None, 1, 2, 3]))),
    "queue": (4, lambda r: (_n(r),)),
    "send_queued": (1, lambda r: (_n(r),)),
    "rewind": (5, lambda r: (_n(r), r.randrange(40))),
    "edit_last": (4, lambda r: (_n(r),)),
    "retry": (4, lambda r: (_n(r), r.choice([None, None, 1, 3]))),
    "stop": (2, lambda r: (_n(r),)),
    "prepare": (2, lambda r: (_n(r), r.choice([None, 1, 2]))),
    "second_window": (3, lambda r: (_n(r), r.choice([1, 1, 2]))),
    "close_window": (1, lambda r: (_n(r),)),
    "fork_conversation": (2, lambda r: (_n(r), r.choice([1, 1, 2]))),
    "switch_agent": (1, lambda r: (_n(r),)),
    "clear": (1, lambda r: (_n(r),)),
    "hold_idle_work": (4, lambda r: (r.choice([1, 1, 2]), r.choice([None, None, *range(12)]))),
    "stream": (
        9,
        lambda r: (
            _n(r),
            r.choice(["text"] * 4 + ["more", "tool", "notice"]),
            r.random() < 0.2,
            r.random() < 0.1,
        ),
    ),
    "end": (
        9,
        lambda r: (
            _n(r),
            r.choice(
                ["end_turn"] * 4
                + ["max_tokens", "cancelled", "refusal", "error", "limit", "empty"]
                + ["compacted", "says an error"]
            ),
        ),
    ),
    "stray": (1, lambda r: (_n(r), r.random() < 0.5)),
    "kill_agent": (4, lambda r: (r.choice([1, 1, 2]), r.choice("AAB"))),
    "outage": (1, lambda r: (r.choice("AAB"), r.random() < 0.4)),
    "sleep": (1, lambda r: ()),
    "crash": (4, lambda r: (r.choice([1, 1, 2]), r.choice([0, 0, *range(1, 12)]))),
    "take_over": (4, lambda r: (_n(r), r.choice([1, 2, 2]), r.random() < 0.5)),
}

# Texts that are said into a turn, in walks of their own: between agents that take them there.
_STEERING: dict[str, tuple[int, Callable[[random.Random], tuple[object, ...]]]] = {
    "queue": (14, lambda r: (_n(r),)),
    "send_now": (18, lambda r: (_n(r), r.choice([None] * 6 + ["refused", "promptRequired"]))),
}


# Directories that are changed, in walks of their own: sessions go along by copies that have their ids.
_MOVING: dict[str, tuple[int, Callable[[random.Random], tuple[object, ...]]]] = {
    "change_directory": (16, lambda r: (_n(r), r.choice(["/work", "/moved"]))),
}


# Ways into trouble that chance alone seldom finds; ... stands for whatever arguments chance gives.
_MOTIFS: tuple[tuple[tuple[object, ...], ...], ...] = (
    # The source of a fork moves while the fork is asked for.
    (
        ("turn", ...),
        ("second_window", 0, 1),
        ("send", 1, 1, "whole", False),
        ("send", 0, None, "whole", False),
        ("advance", 0, None),
        ("end", 0, "end_turn"),
        ("end", 0, "end_turn"),
        ("turn", ...),
    ),
    # A notice or a tool call comes behind the answer, and the prompt after that turn is edited.
    (
        ("send", 0, None, "whole", False),
        ("stream", 0, "text", False, False),
        ("stream", ...),
        ("end", 0, "end_turn"),
        ("turn", ...),
        ("edit_last", 0),
        ("turn", ...),
    ),
    # A client dies with an answer unseen, and the prompt is answered elsewhere.
    (
        ("turn", ...),
        ("send", 0, None, "whole", False),
        ("stream", 0, "text", True, False),
        ("crash", 1, 0),
        ("switch_agent", 0),
        ("retry", 0, None),
        ("end", 0, "end_turn"),
        ("switch_agent", 0),
        ("turn", ...),
    ),
    # An owner only slept: what it has in memory is old, and is forked or used again.
    (
        ("turn", ...),
        ("take_over", 0, 2, False),
        ("turn", 1, "whole", False),
        ("fork_conversation", 1, 1),
        ("turn", 2, "whole", False),
        ("turn", 2, "whole", False),
    ),
    (
        ("turn", ...),
        ("fork_conversation", 0, 1),
        ("take_over", 0, 2, False),
        ("turn", 2, "whole", False),
        ("take_over", 0, 1, False),
        ("turn", 0, "whole", False),
        ("turn", 0, "whole", False),
    ),
    # An agent refuses every prompt, whatever session it is given.
    (
        ("turn", ...),
        ("turn", ...),
        ("lie", "A", "prompt", "always refused"),
        ("turn", ...),
    ),
    # Something is said late, and a prompt follows at once.
    (("turn", ...), ("stray", 0, True), ("end", 0, "end_turn"), ("turn", ...)),
    # An owner only slept, its agent still runs, and rewrites the session when it ends.
    (
        ("turn", ...),
        ("send", 0, None, "whole", False),
        ("take_over", 0, 2, False),
        ("turn", 1, "whole", False),
        ("kill_agent", 1, "A"),
        ("kill_agent", 2, "A"),
        ("turn", 1, "whole", False),
    ),
    # A turn ends without a word, or badly, and the session is met again.
    (
        ("turn", ...),
        ("send", 0, None, "whole", False),
        ("end", ...),
        ("kill_agent", 1, "A"),
        ("turn", ...),
        ("rewind", ...),
        ("turn", ...),
    ),
    # A clear, and the session from before it.
    (("turn", ...), ("clear", 0), ("turn", ...), ("rewind", ...), ("turn", ...)),
    # A session is parked, and its branch taken up again.
    (("turn", ...), ("turn", ...), ("edit_last", 0), ("turn", ...), ("turn", ...)),
    # A prompt goes out while a fork that nobody waits for is asked for, made, or kept.
    (
        ("hold_idle_work", ...),
        ("turn", ...),
        ("send", 0, None, "whole", False),
        ("advance", ...),
        ("end", 0, "end_turn"),
        ("advance", ...),
        ("rewind", ...),
        ("turn", ...),
        ("advance", 0, None),
        ("rewind", ...),
        ("turn", ...),
    ),
    # … and something is said late meanwhile.
    (
        ("hold_idle_work", ...),
        ("turn", ...),
        ("stray", 0, False),
        ("advance", 0, None),
        ("rewind", ...),
        ("turn", ...),
    ),
    # A client dies over it.
    (("turn", ...), ("crash", 1, 5), ("turn", ...), ("edit_last", 0), ("turn", ...), ("turn", ...)),
    # What sessions keep of stopped turns is seen twice when they are opened, and believed of the third.
    *(
        (
            *(
                act
                for _ in range(2)
                for act in (
                    ("turn", 0, "whole", False),
                    ("send", 0, None, "whole", False),
                    ("stream", 0, "text", False, False),
                    (kind, *arguments),
                    ("kill_agent", 1, "A"),
                    ("turn", 0, "whole", False),
                    ("lie", "A", "open", "gone"),
                    ("kill_agent", 1, "A"),
                )
            ),
            ("turn", 0, "whole", False),
            ("send", 0, None, "whole", False),
            ("stream", 0, "text", False, False),
            (kind, *arguments),
            ("turn", 0, "whole", False),
            ("kill_agent", 1, "A"),
            ("turn", 0, "whole", False),
            ("send", 0, None, "whole", False),
            ("stream", 0, "text", False, False),
            (kind, *arguments),
            ("turn", 0, "whole", False),
        )
        for kind, arguments in (("end", (0, "cancelled")), ("end", (0, "error")), ("kill_agent", (1, "A")))
    ),
    # What was abridged is forked.
    (
        ("turn", ...),
        ("turn", ...),
        ("lie", "A", "open", "gone"),
        ("kill_agent", 1, "A"),
        ("turn", 0, "one", False),
        ("second_window", 0, 1),
        ("turn", 1, "whole", False),
        ("turn", 1, "whole", False),
    ),
)

_STEERING_MOTIFS: tuple[tuple[tuple[object, ...], ...], ...] = (
    # The client dies while something is being said into a turn.
    (
        ("turn", ...),
        ("send", 0, None, "whole", False),
        ("queue", 0),
        ("crash", ...),
        ("send_now", 0, None),
        ("turn", ...),
        ("turn", ...),
    ),
    # The turn ends badly after it, or the agent dies, and the session is met again, and its branch left.
    (
        ("turn", ...),
        ("send", 0, None, "whole", False),
        ("stream", ...),
        ("queue", 0),
        ("send_now", 0, None),
        ("end", ...),
        ("kill_agent", 1, "A"),
        ("turn", ...),
        ("rewind", ...),
        ("turn", ...),
    ),
    # The owner only slept, and its agent was told something that the other client never saw said.
    (
        ("send", 0, None, "whole", False),
        ("queue", 0),
        ("send_now", 0, None),
        ("take_over", 0, 2, False),
        ("turn", 1, "whole", False),
        ("kill_agent", 1, "A"),
        ("turn", 1, "whole", False),
    ),
    # A session is forked in the middle of such a turn, or at its end.
    (
        ("turn", ...),
        ("send", 0, None, "whole", False),
        ("queue", 0),
        ("send_now", 0, None),
        ("second_window", 0, 1),
        ("turn", 1, "whole", False),
        ("end", ...),
        ("turn", ...),
        ("turn", ...),
    ),
)


def _n(r: random.Random) -> int:
    return r.randrange(12)


def _budget(r: random.Random) -> str:
    return r.choice(["whole"] * 8 + ["one", "one", "short", "none"])


def _profile(r: random.Random, *, faithful: bool) -> Profile:
    def often(p: float = 0.5) -> bool:
        return r.random() < p

    replays = faithful or often(0.7)
    resume = often(0.7)
    # Once it was seen to be late, a session is resumed if it can be, and a lie is found by nobody.
    late = r.choice([0.0, 0.3, 1.5]) if often(0.2) and not (faithful and resume) else None
    return Profile(
        resume=resume,
        load=faithful or often(0.8),
        replays=replays,
        faithful=True if faithful else r.choice([replays, replays, None]),
        fork=often(0.8),
        fork_cold=often(0.7),
        fork_running=often(0.7),
        fork_at=often(),
        fork_empty_refused=often(),
        delete=often(),
        kill_keeps=r.choice(["user", "user", "partial", "nothing"]),
        cancel_keeps=r.choice(["user", "partial", "partial", "nothing"]),
        error_keeps=r.choice(["user", "partial", "partial", "nothing"]),
        changes_mind=r.choice([None, None, r.randrange(8)]),
        orphan_finishes=often(),
        greets=r.choice(["", "", "behind", "before"]),
        replays_late=late,
        resume_replays=r.choice([None, None, 0.0, 0.3, 1.5]),
        adds_rows=often(0.3),
        drops_short_rows=often(0.3),
        commands=r.choice(["heard", "local", "refused", "refused, shown"]),
        forks_asleep=often(0.3),
        reopen_keeps=often(0.3),
        reuses_ids=not faithful and often(0.1),
    )


def walk_of(seed: int, *, faithful: bool = False, steering: bool = False, moving: bool = False) -> Walk:
    """The walk of a seed; ``faithful``: agents that lie about what they hold, and replay what they hold.

    ``steering``: agents that take texts into their turns, and people who say them. ``moving``: people who go to
    other directories.
    """
    r = random.Random(seed)
    profiles = (_profile(r, faithful=faithful), _profile(r, faithful=faithful))
    happens = _ARGUMENTS | (_STEERING if steering else {}) | (_MOVING if moving else {})
    if steering:
        profiles = (replace(profiles[0], steering=True), replace(profiles[1], steering=r.random() < 0.5))
    lies = (*_PLAIN_LIES, *_LIES_THAT_A_REPLAY_SHOWS, *_LIES_THAT_A_REPLAY_SHOWS) if faithful else _PLAIN_LIES
    names = r.choices(
        [*happens, "lie"], [*(weight for weight, _ in happens.values()), 2], k=r.randrange(5, _ACTS)
    )

    def act(name: str) -> Act:
        return name, (r.choice("AAB"), *r.choice(lies)) if name == "lie" else happens[name][1](r)

    acts = [act(name) for name in names]
    if r.random() < 0.5:
        at = r.randrange(min(len(acts), 4))
        motif = [
            act(str(name)) if arguments == (...,) else (str(name), arguments)
            for name, *rest in r.choice(_STEERING_MOTIFS if steering else _MOTIFS)
            if r.random() < 0.95
            for arguments in [tuple(rest)]
        ]
        acts[at:at] = motif
    return Walk(profiles, tuple(acts))


def play(walk: Walk, template: Path, directory: Path) -> tuple[int, str] | None:
    """Walk; the act after which something was wrong, and what."""
    path = directory / "walk.db"
    for old in directory.glob("walk.db*"):
        old.unlink()
    shutil.copy(template, path)

    async def through() -> tuple[int, str] | None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(owned_task)
        world = World(path, {"A": walk.profiles[0], "B": walk.profiles[1]})
        loop.set_exception_handler(world.unhandled)
        await world.start()
        try:
            for at, (name, arguments) in enumerate(walk.acts):
                await getattr(world, name)(*arguments)
                await world.settle()
                if world.wrong:
                    return at, world.wrong[0]
            await world.finish()
        finally:
            await world.close()
        gc.collect(0)
        return (len(walk.acts), world.wrong[0]) if world.wrong else None

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(through())


def shrunk(walk: Walk, wrong: tuple[int, str], again: Callable[[Walk], tuple[int, str] | None]) -> Walk:
    """A shorter walk that goes wrong in the same way, by agents nearer to the plain one."""
    kind = wrong[1][:3]

    def still(walk: Walk) -> bool:
        found = again(walk)
        return found is not None and found[1][:3] == kind

    walk = replace(walk, acts=walk.acts[: wrong[0] + 1])
    shorter = True
    while shorter:
        shorter = False
        for at in reversed(range(len(walk.acts))):
            tried = replace(walk, acts=walk.acts[:at] + walk.acts[at + 1 :])
            if still(tried):
                walk, shorter = tried, True
    for which in (0, 1):
        for part in fields(Profile):
            profiles = list(walk.profiles)
            profiles[which] = replace(profiles[which], **{part.name: getattr(Profile(), part.name)})
            tried = replace(walk, profiles=(profiles[0], profiles[1]))
            if tried != walk and still(tried):
                walk = tried
    return walk


def report(seed: int, walk: Walk, wrong: str) -> str:
    """What a person needs to see of a walk that went wrong."""
    plain = Profile()
    lines = [f"seed {seed}: {wrong}"]
    for name, profile in zip("AB", walk.profiles, strict=True):
        differs = {
            part.name: getattr(profile, part.name)
            for part in fields(Profile)
            if getattr(profile, part.name) != getattr(plain, part.name)
        }
        lines.append(f"  agent {name}: {differs}")
    return "\n".join([*lines, *(f"  {name}{arguments}" for name, arguments in walk.acts)])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_store(tmp_path_factory.mktemp("template"))


def _hold(
    seeds: range,
    template: Path,
    tmp_path: Path,
    *,
    faithful: bool = False,
    steering: bool = False,
    moving: bool = False,
) -> None:
    for seed in seeds:
        walk = walk_of(seed, faithful=faithful, steering=steering, moving=moving)
        wrong = play(walk, template, tmp_path)
        if wrong:
            small = shrunk(walk, wrong, lambda tried: play(tried, template, tmp_path))
            again = play(small, template, tmp_path)
            pytest.fail(report(seed, small, again[1] if again else wrong[1]), pytrace=False)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", _SEEDS)
def test_nothing_is_sent_that_should_not_be_whatever_happens(
    block: int, template: Path, tmp_path: Path
) -> None:
    _hold(range(block * 1_000_000, block * 1_000_000 + WALKS), template, tmp_path)


@pytest.mark.timeout(0)
def test_a_faithful_replay_finds_every_session_that_is_not_what_it_should_be(
    template: Path, tmp_path: Path
) -> None:
    _hold(range(9_000_000, 9_000_000 + WALKS), template, tmp_path, faithful=True)


@pytest.mark.timeout(0)
def test_what_is_said_into_turns_is_heard_where_its_row_stands_whatever_happens(
    template: Path, tmp_path: Path
) -> None:
    _hold(range(5_000_000, 5_000_000 + WALKS), template, tmp_path, steering=True)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("faithful", [False, True])
def test_a_session_that_goes_along_to_another_directory_holds_what_it_should_whatever_happens(
    template: Path, tmp_path: Path, faithful: bool
) -> None:
    _hold(range(7_000_000, 7_000_000 + WALKS), template, tmp_path, faithful=faithful, moving=True)


def test_the_walks_that_move_bring_sessions_along(template: Path, tmp_path: Path) -> None:
    walk = Walk(
        (Profile(), Profile()),
        (
            ("turn", (0, "whole", False)),
            ("change_directory", (0, "/moved")),
            ("turn", (0, "whole", False)),
            ("change_directory", (0, "/work")),
            ("turn", (0, "whole", False)),
        ),
    )
    assert play(walk, template, tmp_path) is None
    with closing(sqlite3.connect(tmp_path / "walk.db")) as file:
        assert file.execute("SELECT how FROM turn ORDER BY rowid").fetchall() == [
            ("fresh",),
            ("resumed",),
            ("resumed",),
        ]
        assert file.execute("SELECT DISTINCT session_id FROM link WHERE cause <> 'park'").fetchall() == [
            ("A-s1",)
        ]


def test_the_walks_with_steering_say_texts_into_turns(template: Path, tmp_path: Path) -> None:
    walk = Walk(
        (Profile(steering=True), Profile()),
        (
            ("send", (0, None, "whole", False)),
            ("queue", (0,)),
            ("send_now", (0, None)),
            ("end", (0, "end_turn")),
            ("kill_agent", (1, "A")),
            ("turn", (0, "whole", False)),
        ),
    )
    assert play(walk, template, tmp_path) is None
    with closing(sqlite3.connect(tmp_path / "walk.db")) as file:
        told = file.execute("SELECT text FROM message WHERE json_extract(data, '$.steered')").fetchall()
        ways = file.execute("SELECT how, stop_reason FROM turn ORDER BY started_at, rowid").fetchall()
    assert len(told) == 1
    assert ways == [("fresh", "end_turn"), ("resumed", "end_turn")], "and it was told to nobody again"


def test_another_client_that_takes_over_while_the_next_prompt_is_taken_out_of_the_queue_ends_in_words(
    template: Path, tmp_path: Path
) -> None:
    """The lease once was looked for before a wait, and used behind it: the error was nobody's."""
    walk = Walk(
        (Profile(), Profile()),
        (
            ("send", (1, 0, "one", False)),
            ("stop", (9,)),
            ("queue", (9,)),
            ("advance", (8, None)),
            ("send", (7, 0, "whole", False)),
            ("send_now", (4, None)),
            ("take_over", (7, 2, True)),
        ),
    )
    assert play(walk, template, tmp_path) is None


def test_how_a_turn_ended_is_told_on_no_branch_that_leaves_it_before(template: Path, tmp_path: Path) -> None:
    """The error of a turn was told behind its prompt, where the person had gone back to."""
    walk = Walk(
        (Profile(reuses_ids=True), Profile()),
        (
            ("turn", (0, "whole", False)),
            ("turn", (0, "whole", False)),
            ("retry", (0, None)),
            ("end", (0, "says an error")),
            ("rewind", (0, -2)),
            ("turn", (0, "whole", False)),
        ),
    )
    assert play(walk, template, tmp_path) is None
    with closing(sqlite3.connect(tmp_path / "walk.db")) as file:
        told = file.execute("SELECT prior_context FROM turn ORDER BY rowid DESC LIMIT 1").fetchone()
    assert "The rest of the turn is not part of it." in told[0]


def test_a_history_that_comes_late_is_no_answer_though_its_first_prompt_begins_as_a_replay_of_ours(
    template: Path, tmp_path: Path
) -> None:
    """Such a prompt once had no words to be known by, and the answer behind it was taken for the next one's."""
    for beginning in (BEGIN, f"{BEGIN}\n"):
        walk = Walk(
            (Profile(fork_cold=False, replays_late=1.5, resume_replays=0.3), Profile()),
            (
                ("odd_turn", (0, beginning)),
                ("turn", (0, "whole", True)),
                ("crash", (1, 0)),
                ("retry", (0, None)),
            ),
        )
        assert play(walk, template, tmp_path) is None, beginning


def test_a_tool_call_in_a_history_that_comes_late_was_not_made_again(template: Path, tmp_path: Path) -> None:
    """It stood behind the last text that is known of the session, and was taken for one of the next turn's."""
    walk = Walk(
        (Profile(load=False, error_keeps="partial", resume_replays=0.3), Profile()),
        (
            ("turn", (0, "whole", False)),
            ("retry", (0, None)),
            ("stream", (0, "tool", False, False)),
            ("end", (0, "limit")),
            ("second_window", (0, 1)),
            ("crash", (1, 8)),
            ("retry", (1, None)),
            ("odd_turn", (0, "Caveat:")),
        ),
    )
    assert play(walk, template, tmp_path) is None


def test_a_history_that_comes_late_begins_before_what_the_session_was_told_abridged(
    template: Path, tmp_path: Path
) -> None:
    """Only what came behind that was known of a fork, and the answers before it were taken for new ones."""
    walk = Walk(
        (Profile(load=False, resume_replays=0.3, adds_rows=True), Profile()),
        (
            ("turn", (0, "whole", False)),
            ("turn", (0, "whole", True)),
            ("stray", (0, False)),
            ("turn", (0, "one", False)),
            ("rewind", (0, 6)),
            ("turn", (0, "none", False)),
            ("crash", (1, 0)),
            ("turn", (0, "whole", False)),
        ),
    )
    assert play(walk, template, tmp_path) is None
