"""Which files a mention is offered, and in which order: real git, real directories. Section W04."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from catena.mentions.index import OFFERED, FileIndex
from catena.mentions.mentions import Mention, readings_in, unfinished, written

LONG_AGO = 1_000_000_000


def make(root: Path, *paths: str, changed_at: int = LONG_AGO) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
        os.utime(root / path, (changed_at, changed_at))


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)


async def offered(root: Path, typed: str, *further: Path, mentioned: Iterable[Path] = ()) -> list[str]:
    index = FileIndex([str(root), *map(str, further)])
    await index.refresh([str(path) for path in mentioned])
    assert index.complete
    return index.best(typed)


async def test_w04_git_says_which_files_there_are_and_hidden_ones_want_a_dot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, ignored = tmp_path / "shop", tmp_path / "ignored"
    ignored.write_text("*.everywhere\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    git(tmp_path, "config", "--global", "core.excludesFile", str(ignored))
    make(
        shop, "app.py", "build/out.js", "notes.local", "x.everywhere", "src/new.py", ".github/ci.yml", ".env"
    )
    (shop / ".gitignore").write_text("build/\n")
    os.utime(shop / ".gitignore", (LONG_AGO, LONG_AGO))
    git(shop, "init")
    (shop / ".git/info/exclude").write_text("*.local\n")
    git(shop, "add", "app.py")
    make(shop, "gone.py")
    git(shop, "add", "gone.py")
    (shop / "gone.py").unlink()
    assert set(await offered(shop, "")) == {"app.py", "src/", "src/new.py"}
    assert await offered(shop, ".") == [".env", ".github/", ".gitignore"]
    assert await offered(shop, ".github/") == [".github/ci.yml"]
    # Where Catena was started below the top, the paths count from there.
    assert await offered(shop / "src", "") == ["new.py"]


async def test_w04_without_git_all_is_walked_but_what_every_tool_skips(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "deep/er/b.txt", "node_modules/x/i.js", "__pycache__/a.pyc", ".venv/bin/python")
    make(tmp_path, "inner/kept.py", "inner/made.log", "inner/.gitignore")
    (tmp_path / "inner/.gitignore").write_text("*.log\n")
    git(tmp_path / "inner", "init")
    found = await offered(tmp_path, "")
    assert set(found) == {"a.txt", "deep/", "deep/er/", "deep/er/b.txt", "inner/", "inner/kept.py"}
    assert found[0] == "a.txt" or found[0].endswith("/")  # the nearest first


async def test_w04_names_go_before_directories_and_beginnings_before_the_middle(tmp_path: Path) -> None:
    make(
        tmp_path,
        "app/other.py",
        "lib/wrapping.py",
        "lib/my_app.py",
        "lib/app.py",
        "x/a_p_p.py",
        "lib/zapp.py",
    )
    assert await offered(tmp_path, "app") == [
        "app/",
        "lib/app.py",
        "lib/my_app.py",
        "lib/zapp.py",
        "lib/wrapping.py",
        "app/other.py",
        "x/a_p_p.py",
    ]
    assert await offered(tmp_path, "lmap") == ["lib/my_app.py"]
    assert await offered(tmp_path, "nothing like it") == []


async def test_w04_what_was_mentioned_or_changed_lately_goes_first_among_what_fits_alike(
    tmp_path: Path,
) -> None:
    make(tmp_path, *(f"part_{number}.py" for number in range(9)))
    make(tmp_path, "part_7.py", changed_at=2_000_000_000)
    first = await offered(tmp_path, "part", mentioned=[tmp_path / "part_5.py"])
    assert first[:3] == ["part_5.py", "part_7.py", "part_0.py"]


async def test_w04_a_slash_goes_into_a_directory(tmp_path: Path) -> None:
    make(tmp_path, "src/a.py", "src/deep/b.py", "src/.hidden", "other/a.py", "my src/c.py")
    assert await offered(tmp_path, "src/") == ["src/a.py", "src/deep/"]
    assert await offered(tmp_path, "src/.") == ["src/.hidden"]
    assert await offered(tmp_path, "src/b") == ["src/deep/b.py"]
    assert await offered(tmp_path, "my src/") == ["my src/c.py"]


async def test_w04_no_link_leads_out_and_further_directories_are_named_whole(tmp_path: Path) -> None:
    shop, lib, secret = tmp_path / "shop", tmp_path / "lib", tmp_path / "secret"
    make(shop, "a.py")
    make(lib, "tool.py", ".hidden")
    make(secret, "key")
    (shop / "out").symlink_to(secret / "key")
    (shop / "out_dir").symlink_to(secret)
    (shop / "broken").symlink_to(secret / "nothing")
    (shop / "in").symlink_to(shop / "a.py")
    (shop / "to_lib").symlink_to(lib / "tool.py")
    for repository in (False, True):
        if repository:
            git(shop, "init")
            git(shop, "add", ".")
        assert set(await offered(shop, "")) == {"a.py", "in"}
        everything = set(await offered(shop, "", lib))
        assert everything >= {"a.py", "in", "to_lib", f"{lib}/tool.py"}
        assert not {Path(path).name for path in everything} & {"key", "out", "out_dir", "broken", ".hidden"}


async def test_w04_names_that_no_text_could_carry_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, "plain", 'quo"te', "line\nend", "es\x1b[31mcape", "\u202egnp.exe")
    (tmp_path / os.fsdecode(b"raw\xff")).write_text("")
    assert await offered(tmp_path, "") == ["plain"]


async def test_w04_fifty_thousand_files_are_looked_at_once_and_few_rows_are_offered(tmp_path: Path) -> None:
    for folder in range(100):
        place = tmp_path / f"module_{folder:02d}"
        place.mkdir()
        for number in range(500):
            os.close(os.open(place / f"file_{number:03d}.py", os.O_CREAT))
    index = FileIndex([str(tmp_path)])
    shown: list[int] = []
    index.published = lambda: shown.append(len(index))
    await index.refresh()
    assert len(index) == 50_100
    assert shown[0] < 3_000, "the first come before all are found"
    assert shown == sorted(shown)
    for typed in ("f", "fi", "file_499", "m42f7", "py", "zzz"):
        assert len(index.best(typed)) <= OFFERED
    assert index.best("module_42/file_007") == ["module_42/file_007.py"]
    assert index.scans == 1


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("look at @src/app.py", [Mention("src/app.py")]),
        ("@a.py", [Mention("a.py")]),
        ("one\n@b", [Mention("b")]),
        ("mail me@example.org", []),
        (r"an agent's \@all", []),
        ('the "@x"', []),
        ("alone @ here", []),
        ('@"my notes/a b.md" and', [Mention("my notes/a b.md")]),
        ('@"my notes/a b.md":3-4', [Mention("my notes/a b.md", 3, 4)]),
        ("@a.py:10-20", [Mention("a.py:10-20"), Mention("a.py", 10, 20)]),
        ("@a.py:7.", [Mention("a.py:7."), Mention("a.py:7"), Mention("a.py", 7)]),
        ("@a.py:" + "9" * 5_000, []),
        ("@" + "." * 100_000, []),
        ("(see @a.py).", [Mention("a.py)."), Mention("a.py)"), Mention("a.py")]),
    ],
)
def test_w04_what_is_a_mention_and_what_is_text(text: str, first: list[Mention]) -> None:
    found = [readings for readings in readings_in(text) if readings]
    assert found == ([tuple(first)] if first else [])


def test_w04_what_is_written_before_the_cursor_is_completed_and_quoted_where_it_has_blanks() -> None:
    mention = unfinished("see @src/ap rest", 11)
    assert mention is not None
    assert (mention.typed, mention.start, mention.end) == ("src/ap", 4, 11)
    assert unfinished("see @src/ap rest", 12) is None
    assert unfinished("me@example", 10) is None
    quoted = unfinished('@"my no', 7)
    assert quoted is not None and quoted.typed == "my no"
    assert [written(path) for path in ("a.py", "src/", "my a.py", "my src/")] == [
        "@a.py ",
        "@src/",
        '@"my a.py" ',
        '@"my src/',
    ]


async def test_w04_directories_that_are_gone_or_lead_in_a_circle_offer_nothing(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert await offered(tmp_path / "gone", "", tmp_path / "round") == []
    make(tmp_path / "shop", "a.py")
    assert await offered(tmp_path / "shop", "", tmp_path / "round", tmp_path / "gone") == ["a.py"]
