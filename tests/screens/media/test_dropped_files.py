"""Files that are dropped on the terminal, whose paths it pastes in a way of its own."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from textual import events

from catena.desktop.files import pasted_paths
from catena.screens.chat.prompt.dropped_files import DroppedFiles
from support.screen.pilot import at_the_screen

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
_LETTERS = "abcXYZ089 _-.'\"\\()[]{}$&;!#%+=@~ä漢🎈"


def _escaped(path: str) -> str:
    return "".join(each if each.isalnum() or each in "/._-" else f"\\{each}" for each in path)


_WAYS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "iTerm2 and Ghostty": lambda path: f"{_escaped(path)} ",
    "GNOME": lambda path: f"{shlex.quote(path)} ",
    "single quotes": lambda path: "'" + path.replace("'", "'\\''") + "'",
    "an address": lambda path: f"file://{quote(path)}",
    "an address with this machine": lambda path: f"file://Here{quote(path)}\r\n",
}


@pytest.mark.parametrize("way", _WAYS)
def test_w05_a_dropped_path_is_read_in_the_way_of_each_terminal(way: str) -> None:
    chance = random.Random(way)
    for _ in range(200):
        name = "".join(chance.choice(_LETTERS) for _ in range(chance.randint(1, 12))).strip() or "x"
        path = f"/home/ada/{name}"
        if way == "as it is" and (name[0] in "'\"" or path != path.strip()):
            continue
        found = pasted_paths(_WAYS[way](path), exists={path}.__contains__, home="/home/ada", host="here")
        assert found == (path,), (way, path)


@pytest.mark.parametrize("way", ["iTerm2 and Ghostty", "GNOME", "single quotes", "an address"])
@pytest.mark.parametrize("between", [" ", "\n", "\r\n"])
def test_w05_several_paths_in_one_paste_are_read_with_blanks_or_lines_between(way: str, between: str) -> None:
    paths = ("/home/ada/one file.txt", "/tmp/it's", "/tmp/three")
    text = between.join(_WAYS[way](path).strip() for path in paths)
    assert pasted_paths(text, exists=set(paths).__contains__, home="/", host="here") == paths


def test_w05_a_text_that_only_contains_a_path_stays_a_text() -> None:
    known = {"/tmp/two", "/tmp/one file", "/tmp", "/"}
    for text in (
        "",
        "two",
        "see /tmp/two",
        "/tmp/two please",
        "/tmp/two, /tmp/two",
        "/tmp/two\nand so on",
        "cat /tmp/two",
        "/tmp/twox",
        "/'",
        "/tmp/two\0",
        "file://elsewhere/tmp/two",
        "file:///tmp/two?x",
        "https://example.org/tmp/two",
        "C:\\tmp\\two",
        "/tmp/two " * 2_000,
    ):
        assert pasted_paths(text, exists=known.__contains__, home="/home/ada", host="here") == (), text


def test_w05_under_windows_its_own_paths_lead_to_where_they_are_mounted() -> None:
    known = {"/mnt/c/Users/Ada L/shot.png", "/home/ada/x y"}
    for text, path in (
        ('"C:\\Users\\Ada L\\shot.png"', "/mnt/c/Users/Ada L/shot.png"),
        ("C:\\Users\\Ada L\\shot.png", "/mnt/c/Users/Ada L/shot.png"),
        ('"\\\\wsl.localhost\\Ubuntu\\home\\ada\\x y"', "/home/ada/x y"),
        ("~/x y", "/home/ada/x y"),
    ):
        assert pasted_paths(text, exists=known.__contains__, home="/home/ada", wsl=True) == (path,), text


def test_w05_pictures_are_attached_files_of_the_directories_mentioned_and_others_asked_for(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    (project / "a dir").mkdir(parents=True)
    picture, lie = tmp_path / "shot.dat", project / "lie.png"
    picture.write_bytes(PNG)
    lie.write_text("a text")
    notes, odd, outside = project / "a dir" / "notes.md", project / 'a"b c', tmp_path / "outside.md"
    for each in (notes, odd, outside):
        each.touch()
    roots = (str(project), str(tmp_path / "more"))

    def dropped(*paths: Path) -> DroppedFiles:
        found = DroppedFiles.of("\n".join(map(str, paths)), roots)
        assert found is not None
        return found

    assert dropped(picture).attached == (str(picture),)
    assert dropped(lie).mentions == ("@lie.png ",)  # by its content, whatever it is called
    both = dropped(picture, notes, project / "a dir")
    assert both.attached == (str(picture),) and both.mentions == ('@"a dir/notes.md" ', '@"a dir/" ')
    for asked in (dropped(outside), dropped(outside, notes), dropped(odd)):
        assert not asked.taken and not asked.mentions
    assert not dropped(tmp_path).taken and not dropped(tmp_path).files
    assert DroppedFiles.of(f"see {notes}", roots) is None


async def test_w05_what_is_dropped_is_taken_at_once_and_undone_with_one_key(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("what is in it")
    (tmp_path / "shot.png").write_bytes(PNG)
    async with at_the_screen(str(tmp_path)) as person:
        await person.type("see")
        person.composer.post_message(events.Paste(f"{tmp_path}/notes.md "))
        await person.until(lambda: person.draft == "see @notes.md ", "the mention")
        await person.press("ctrl+underscore")
        assert person.draft == f"see{tmp_path}/notes.md "
        await person.press("ctrl+u")
        await person.type("look ")
        person.composer.post_message(events.Paste(f"'{tmp_path}/shot.png' "))
        await person.until(
            lambda: [file.name for file in person.tab.attachments] == ["shot.png"], "the picture"
        )
        await person.sees("+ shot.png 48 B", "Attached shot.png.")
        assert person.draft == "look "
        await person.press("ctrl+underscore")
        await person.until(lambda: not person.tab.attachments, "it to be detached")
        assert person.draft == f"look '{tmp_path}/shot.png' "
        await person.press("ctrl+u")
        await person.type("/attach ")
        person.composer.post_message(events.Paste(f"{tmp_path}/notes.md"))
        await person.until(lambda: person.draft == f"/attach {tmp_path}/notes.md", "the path as it is")
