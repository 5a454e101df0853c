"""The ways back and aside in a conversation whose turns wrote files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena.screens.blame.screen import BlameScreen
from catena.screens.changes.screen import ChangesScreen
from catena.screens.chat.panels.fork import ForkPanel
from catena.screens.checkpoints.screen import CheckpointsScreen
from catena.screens.common.picker import Picker
from catena.screens.comparison.screen import ComparisonScreen
from catena.screens.tree.screen import TreeScreen
from catena.themes import catalog
from support.screen.pilot import Person, at_the_screen
from support.sizes.stop import DOWN, Tour, escape, sheet, stop
from support.sizes.talking import back_to_writing
from support.storage.written_files import written_files

AFTER = {"a": "one\ntwo\n", "b": "new\n"}


async def cancelled(person: Person) -> None:
    """Cancel what is asked or edited."""
    await person.press("escape")
    await person.until(lambda: person.tab.editing is None, "the end of the edit")
    await back_to_writing(person)


@stop("an edit", "f4", "restores 2 files", close=cancelled)
async def edit(person: Person) -> None:
    """An earlier prompt in the composer, and the files that can go back."""
    await person.sees("say second")
    await person.browse()
    await person.press("e")
    await person.sees("Edit ", "restores 2 files")
    await person.writing()


@stop("a retry", "Retry", "enter", "f4", "Files", "esc", "Cancel", close=cancelled, shows=(ForkPanel,))
async def retry(person: Person) -> None:
    """The same prompt again."""
    await person.browse()
    await person.press("r")
    await person.is_asked()
    await person.sees("Files too: would restore 2 files (1 deleted), −2 lines")


@stop("a fork", "Fork", "enter", "esc", "Cancel", close=cancelled, shows=(ForkPanel,))
async def fork(person: Person) -> None:
    """A conversation of its own from here."""
    await person.browse()
    await person.press("f")
    await person.is_asked()


@stop("the tree", "esc", close=escape, shows=(TreeScreen,), moves=DOWN)
async def tree(person: Person) -> None:
    """Every branch."""
    await person.say("/tree")
    await person.sees_dialog(TreeScreen)
    await person.press("up")
    await person.sees("would restore 2 files (1 deleted), −2 lines")


@stop("a search in the tree", "esc", close=escape, shows=(TreeScreen,))
async def tree_search(person: Person) -> None:
    """A word on any branch."""
    await person.say("/tree")
    await person.sees_dialog(TreeScreen)
    await person.press("slash")
    await person.type("first")


@stop("the files of a way", "esc", close=escape, shows=(ChangesScreen,))
async def planned(person: Person) -> None:
    """What would become of files."""
    await person.say("/tree")
    await person.sees_dialog(TreeScreen)
    await person.press("up")
    await person.sees("would restore 2 files (1 deleted), −2 lines")
    await person.press("f3")
    await person.sees_dialog(ChangesScreen)


@stop("a comparison", "esc", close=escape, shows=(ComparisonScreen,))
async def comparison(person: Person) -> None:
    """Two branches."""
    await person.say("/tree")
    await person.sees_dialog(TreeScreen)
    await person.press("up", "enter")
    await person.back()
    await person.answered("say instead")
    await person.say("/tree")
    await person.sees_dialog(TreeScreen)
    await person.sees("instead")
    await person.press("m", "up", "d")
    await person.sees_dialog(ComparisonScreen)


@asynccontextmanager
async def begin(place: Path) -> AsyncIterator[Person]:
    """A conversation whose second turn wrote a line more, and another file."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CATENA_DATA_DIR", str(place))
        async with written_files(place) as files:
            for prompt, texts in (("say first", {"a": "one\n"}), ("say second", AFTER)):
                turn = await files.begin("shop", prompt)
                for name, text in texts.items():
                    (files / name).write_text(text)
                await files.end(turn)
        async with at_the_screen(
            str(files.root), conversation_id="shop", environment={"COLORTERM": "truecolor"}
        ) as person:
            yield person


BRANCHES = Tour(
    "branches",
    begin,
    (
        edit,
        retry,
        fork,
        tree,
        tree_search,
        planned,
    ),
    catalog.LIGHT,
)
PLACES = Tour(
    "places",
    begin,
    (
        sheet("/checkpoints", CheckpointsScreen),
        sheet("/changes", ChangesScreen, moves=DOWN),
        sheet("/blame a", BlameScreen, moves=DOWN),
        comparison,
        sheet("/reflog", Picker, "the jump"),
    ),
    catalog.LIGHT,
)
