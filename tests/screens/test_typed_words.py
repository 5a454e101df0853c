"""Which row is on top for a word, whatever was typed or known before it: ten thousand words."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from catena.acts.table import FrontCommand
from catena.mentions.index import FileIndex
from catena.screens.chat.commands.table import SLASH_COMMANDS
from catena.screens.common.picker import fuzzy_match, words_match
from catena.settings.templates import Template
from catena.widgets.completion import completions
from catena.widgets.row_list import Row
from catena_acp.port.session_events import AgentCommand
from support.walks.length import walks

COMMAND_WORDS, FILE_WORDS, PICKED_WORDS = 5_000, 3_000, 2_000
OF_ONE_WORLD = 10  # words
ENDINGS = ("er", "s", "-all", "ning", "2")
BEGINNINGS = ("a-", "pre", "code-", "re")
DIRECTORIES = ("", "src/", "src/app/", "lib/", "views/")
MODELS = (
    *("opus", "opusplan", "Opus", "gpt-opus", "sonnet", "sonnet-1m", "haiku", "pi", "pipeline", "copilot"),
    *("main", "maintenance", "fix-main", "Main", "feature/main", "claude-code", "codex", "code"),
)

LONG_AGO = 1_000_000_000  # seconds

Item = TypeVar("Item")

# How well a name fits a word.
EXACT, WHOLE, BEGINS, INSIDE, ELSE = range(5)


def fit(word: str, name: str) -> int:
    """How well a name fits a word, said anew: in full, in full but for capitals, its beginning, a part of it."""
    if name == word:
        return EXACT
    word, name = word.casefold(), name.casefold()
    if name == word:
        return WHOLE
    return BEGINS if name.startswith(word) else INSIDE if word in name else ELSE


def other_name(name: str, random_: random.Random) -> str:
    """A name that is like another one, or the same."""
    made = (
        name,
        name.capitalize(),
        name + random_.choice(ENDINGS),
        name + random_.choice(ENDINGS),
        random_.choice(BEGINNINGS) + name,
        name[: max(2, len(name) - 2)],
    )
    return random_.choice(made)


def word_of(name: str, random_: random.Random) -> str:
    """What somebody types for a name: all of it, its beginning, a part, or with a letter lost or two swapped."""
    at = random_.randrange(len(name))
    kind = random_.randrange(8)
    if kind == 0:
        return name
    if kind == 1:
        return random_.choice((name.upper(), name.lower(), name.capitalize()))
    if kind in (2, 3, 4):
        return name[: at + 1]
    if kind == 5:
        return name[at : random_.randint(at + 1, len(name))]
    if kind == 6:
        return name[:at] + name[at + 1 :] or name
    return name[:at] + name[at : at + 2][::-1] + name[at + 2 :]


def words_of(names: Sequence[str], count: int, random_: random.Random) -> list[str]:
    """So many words for some names, none with a blank; shorter ones of the same beginning stand before longer ones."""
    words: list[str] = []
    while len(words) < count:
        word = word_of(random_.choice(names), random_)
        if not any(each.isspace() for each in word):
            words.append(word)
    return sorted(words)


def shuffled(items: Sequence[Item], random_: random.Random) -> list[Item]:
    """The same items in another order."""
    return random_.sample(items, len(items))


@dataclass(frozen=True)
class World:
    """Some commands of Catena, some templates and some of an agent, with names that are like each other."""

    own: Sequence[FrontCommand]
    templates: Sequence[Template]
    agent: Sequence[AgentCommand]

    @classmethod
    def of(cls, random_: random.Random) -> World:
        """A world that only the seed decides."""
        own = random_.sample(SLASH_COMMANDS, 3)
        known = [name for each in own for name in (each.name, *each.aliases, *each.meant)]
        templates: list[Template] = []
        for _ in range(3):
            name = other_name(random_.choice(known), random_)
            project = random_.random() < 0.5
            aside = random_.choice(("", "", name))
            allowed = random_.choice((None, True, False)) if project else None
            templates.append(Template(name, "x", aside=aside, of_project=project, allowed=allowed))
            known.append(name)
        agent = {other_name(random_.choice(known), random_) for _ in range(3)}
        commands = [AgentCommand(name, "", None) for name in sorted(agent)]
        return cls(own, templates, commands)

    def rows(self, word: str, *, templates: bool = True, agent: bool = True) -> list[Row]:
        """The rows for a word with what is known."""
        known = self.templates if templates else ()
        return completions(f"/{word}", self.own, self.agent if agent else (), known)

    def names(self) -> dict[str, tuple[str, ...]]:
        """The names of everything that a row can be sent for, by the row's key.

        Names by which a command is found only where they are typed in full stand behind a blank: those of a command
        that is not listed, and the words of other clients, where they are nobody else's name.
        """
        named: dict[str, tuple[str, ...]] = {}
        taken = {name for each in self.own for name in (each.name, *each.aliases)}
        theirs: set[str] = set()
        for template in self.templates:
            if not template.refused and template.name not in theirs:
                theirs.add(template.name)
                if template.name not in taken:
                    named[f"{'aside' if template.aside else 'template'}:{template.name}"] = (template.name,)
        for command in self.agent:
            if command.name not in taken | theirs:
                named[f"agent:{command.name}"] = (command.name,)
        theirs.update(each.name for each in self.agent)
        for each in self.own:
            names = (each.name, *each.aliases)
            others = [f" {name}" for name in (*(() if each.words else names), *(set(each.meant) - theirs))]
            named[f"own:{each.words or each.name}"] = (*((each.words, *names) if each.words else ()), *others)
        return named


def best_fit(word: str, names: Sequence[str]) -> int:
    """How well the best of some names fits a word."""
    return min((fit(word, name) for name in names if not name.startswith(" ")), default=ELSE)


def assert_best_first(word: str, rows: Sequence[Row], named: dict[str, tuple[str, ...]]) -> None:
    """A whole name is the first row, and of what can be sent no worse fit stands before a better one."""
    whole = [key for key, names in named.items() if word in names or f" {word}" in names]
    assert [row.key for row in rows][:1] == whole or not whole, (word, rows, named)
    sent = [row for row in rows if not row.dim]
    assert rows[:1] == sent[:1] or not sent, ("hidden before what can be sent", word, rows)
    fits = [EXACT if row.key in whole else best_fit(word, named[row.key]) for row in sent]
    assert fits == sorted(fits), (word, rows, fits)
    best = EXACT if whole else min(best_fit(word, names) for names in named.values())
    assert fits[:1] == [best] or best == ELSE, (word, rows, best)


def test_u01_the_row_for_a_word_of_a_command_is_the_best_and_depends_on_the_word_alone() -> None:
    random_ = random.Random(1)
    for _ in range(walks(COMMAND_WORDS // OF_ONE_WORLD)):
        world = World.of(random_)
        named = world.names()
        every = [name.strip() for names in named.values() for name in names]
        words = words_of(every, OF_ONE_WORLD, random_)
        top = {}
        for word in shuffled(words, random_):  # each without its beginnings before it
            rows = world.rows(word)
            top[word] = rows[0] if rows else None
            assert_best_first(word, rows, named)
        for word in words:  # letter by letter
            if random_.random() < 0.1:
                templates = random_.random() < 0.5
                world.rows(word, templates=templates, agent=not templates)  # one of them is still being read
            rows = world.rows(word)
            assert top[word] == (rows[0] if rows else None), word


def test_u01_a_whole_name_is_on_top_in_whatever_order_commands_are_listed() -> None:
    random_ = random.Random(2)
    for _ in range(walks(100)):
        world = World.of(random_)
        every = {name.strip() for names in world.names().values() for name in names}
        for name in sorted(each for each in every if " " not in each):
            other = World(
                shuffled(world.own, random_),
                shuffled(world.templates, random_),
                shuffled(world.agent, random_),
            )
            assert_best_first(name, other.rows(name), other.names())


def typed_files(paths: Sequence[str], count: int, random_: random.Random) -> Iterator[str]:
    """So many words for files: of their names, some of them behind the directory that they are in."""
    names = [path.rpartition("/")[2] for path in paths]
    for word in words_of(names, count, random_):
        path = random_.choice(paths)
        yield word if random_.random() < 0.8 else f"{path.rpartition('/')[0]}/{word}".removeprefix("/")


def make(root: Path, paths: Sequence[str], changed_at: dict[str, int]) -> None:
    """Empty files, each changed when it is said."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
        os.utime(root / path, (changed_at[path], changed_at[path]))


async def test_u01_the_file_for_a_word_is_the_best_and_depends_on_the_word_alone(tmp_path: Path) -> None:
    random_ = random.Random(3)
    stems = ("view", "viewer", "review", "View", "preview", "my view", "plan", "planning", "a-plan", "vie")
    paths = sorted(
        f"{directory}{stem}{ending}"
        for directory in DIRECTORIES
        for stem in stems
        for ending in (".py", ".md", "")
        if random_.random() < 0.6
    )
    changed_at = dict(zip(paths, shuffled(range(LONG_AGO, LONG_AGO + len(paths)), random_), strict=True))
    once, growing = (FileIndex([str(tmp_path)], clock=lambda: LONG_AGO) for _ in range(2))
    make(tmp_path, paths[::2], changed_at)
    await growing.refresh()
    for word in typed_files(paths, 300, random_):
        growing.best(word)  # of a half, while the other half is still being read
    make(tmp_path, paths, changed_at)
    await growing.refresh()
    await once.refresh()
    words = list(typed_files(paths, FILE_WORDS, random_))
    best = {word: once.best(word) for word in shuffled(words, random_)}
    for word, found in best.items():
        directory, slash, name = word.rpartition("/")
        below = [path for path in found if path.startswith(directory + slash)]
        fits = [fit(name, path.rstrip("/").rpartition("/")[2]) for path in below]
        assert fits == sorted(fits), (word, list(zip(fits, below, strict=True)))
        if not slash and not word.startswith("."):  # a dot asks for what is hidden
            fitting = min(fit(word, path.rpartition("/")[2]) for path in paths)
            assert fitting == ELSE or fits[0] <= fitting, (word, found)
    for word in words:  # letter by letter
        assert growing.best(word) == best[word], word


def test_u01_the_row_for_a_word_of_a_picked_name_is_the_best_in_whatever_order_names_stand() -> None:
    random_ = random.Random(4)
    matches: tuple[Callable[[str, Sequence[Row]], Sequence[Row]], ...] = (words_match, fuzzy_match)
    for word in words_of(MODELS, PICKED_WORDS, random_):
        rows = [Row(name, name) for name in shuffled(MODELS, random_)]
        for match in matches:
            found = match(word, rows)
            fits = [fit(word, row.label) for row in found]
            assert fits == sorted(fits), (word, [row.label for row in found])
            assert {row.label for row in found} >= {name for name in MODELS if fit(word, name) < ELSE}, word
