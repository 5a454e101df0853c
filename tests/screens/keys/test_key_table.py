"""The table of actions: every key is shown from it, can be changed, and cannot take another's place."""

from __future__ import annotations

import re
import string
from itertools import combinations
from pathlib import Path

import pytest
from textual.keys import _character_to_key

import catena
from catena.cli.settings.keys import key_document
from catena.errors import InvalidSettings
from catena.keys.actions import ACTIONS, PLACES
from catena.keys.keymap import DEFAULT_KEYS, KeyMap, settled
from catena.keys.spelling import UnknownKey, said_key, shown_key, spelled, textual_names
from catena.screens.chat.area.hints import HINTS, LEFT_HINTS
from catena.screens.chat.commands.table import COMMANDS
from catena.screens.commands.help import SECTIONS
from catena.settings.settings import parse_settings

SOURCES = Path(catena.__file__).parent
_NAMED = re.compile(r"\{\*?([A-Za-z_0-9 ]+)\}")


def test_w20_every_action_is_bound_somewhere_and_every_binding_is_in_the_table() -> None:
    bound: set[str] = set()
    for source in SOURCES.rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        assert not re.search(r"\bBinding\(", text) or source.name == "bindings.py", (
            f"{source}: use bindings()"
        )
        if source.parent.name != "keys":
            bound |= {one or other for one, other in re.findall(r'\b(\w+)=|"(\w+)"', text)}
        if "list_bindings(" in text:  # which makes them of the foot
            for template in re.findall(r'SheetKey\(\s*"([^"]*)"', text):
                bound |= {name.lower() for names in _NAMED.findall(template) for name in names.split()}
        numbered = re.findall(r'f"(\w+)_\{number\}"', text)
        bound |= {f"{each}_{number}" for each in numbered for number in range(1, 10)}
    assert bound >= set(ACTIONS)


def test_w20_default_keys_are_spelled_sendable_and_each_alone_in_its_place() -> None:
    for action in ACTIONS.values():
        assert [spelled(key) for key in action.keys] == list(action.keys)
        assert action.place in PLACES
    assert settled({name: action.keys for name, action in ACTIONS.items()}) == (DEFAULT_KEYS, ())
    for one, other in combinations(ACTIONS.values(), 2):
        if one.place == other.place:
            assert not set(one.keys) & set(other.keys), (one.name, other.name)


def test_w20_a_function_key_does_the_same_everywhere() -> None:
    verbs: dict[str, set[str]] = {}
    for action in ACTIONS.values():
        for key in action.keys:
            if re.fullmatch(r"f\d+", key):
                verbs.setdefault(key, set()).add(action.does.split()[0])
    assert {key: does for key, does in verbs.items() if len(does) > 1} == {}


def test_w20_every_key_that_is_named_on_the_screen_is_one_of_the_table() -> None:
    templates = [
        key for hints in (*HINTS.values(), *LEFT_HINTS.values(), *SECTIONS.values()) for key, _ in hints
    ]
    templates += [each.key for each in COMMANDS]
    for source in (SOURCES / "screens").rglob("*.py"):
        templates += re.findall(
            r'(?:SheetKey|said|fill)\(\s*"([^"]*\{[^"]*)"', source.read_text(encoding="utf-8")
        )
    for template in templates:
        for names in _NAMED.findall(template):
            assert {name.lower() for name in names.split()} <= set(ACTIONS), template


def test_w20_the_document_of_keys_is_made_from_the_table() -> None:
    document = Path(__file__).parents[3] / "docs" / "keys.md"
    assert key_document() in document.read_text(encoding="utf-8"), (
        "python -m catena.cli.settings.keys prints the table"
    )


@pytest.mark.parametrize(
    ("written", "key", "shown", "said"),
    [
        ("ctrl+N", "ctrl+n", "ctrl+n", "Ctrl+N"),
        ("Esc", "escape", "esc", "Esc"),
        ("shift+f", "F", "F", "F"),
        ("PgUp", "pageup", "pgup", "PgUp"),
        ("shift+ctrl+left", "ctrl+shift+left", "ctrl+shift+←", "Ctrl+Shift+←"),
        (" ", "space", "space", "Space"),
        ("ctrl+/", "ctrl+_", "ctrl+_", "Ctrl+_"),
        ("+", "+", "+", "+"),
        ("ctrl++", "ctrl++", "ctrl++", "Ctrl++"),
        ("g  g", "g g", "g g", "g g"),
        ("ctrl+x CTRL+E", "ctrl+x ctrl+e", "ctrl+x ctrl+e", "Ctrl+X Ctrl+E"),
    ],
)
def test_w20_a_key_has_one_spelling(written: str, key: str, shown: str, said: str) -> None:
    assert spelled(written) == key
    assert (shown_key(key), said_key(key)) == (shown, said)


@pytest.mark.parametrize("text", ["", "ctrl", "ctlr+n", "F99", "ctrl+", "pageupp", "\x1b"])
def test_w20_a_text_that_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(UnknownKey):
        spelled(text)


def test_w20_keys_have_the_names_that_textual_gives_them() -> None:
    for character in string.punctuation + string.ascii_letters + string.digits:
        assert _character_to_key(character) in textual_names(spelled(character)), character
    assert textual_names("F") == ("F", "shift+f")


def _problems(text: str) -> list[str]:
    settings = parse_settings(Path("config.toml"), text)
    return [str(each) for each in settings.key_problems]


def test_w20_keys_that_cannot_be_are_named_with_their_line_and_keep_their_defaults() -> None:
    text = """[keys]
find = "ctrl+n"
history = "ctrl+m"
queue = "alt+1"
send = "s"
next_message = "n"
top = "n"
tree = ["ctrl+i", "t"]
fork = "r"
"""
    settings = parse_settings(Path("config.toml"), text)
    told = "\n".join(str(each) for each in settings.key_problems)
    assert settings.keys == DEFAULT_KEYS
    for line, words in {
        2: '`keys.find` "ctrl+n" is a key of `queue`, too (anywhere in a chat). The default applies: ctrl+f',
        3: '`keys.history` "ctrl+m" cannot be a key: terminals send Enter for it',
        4: "only terminals with the kitty keyboard protocol send it",
        5: '"s" cannot be a key of `send`: it types text there',
        6: '"n" is a key of `top`, too',
        7: '"n" is a key of `next_message`, too',
        8: "terminals send Tab for it",
        9: '"r" is a key of `retry`, too',
    }.items():
        assert re.search(rf"^config\.toml:{line}: .*{re.escape(words)}", told, re.M), (line, told)


def test_w20_keys_may_be_swapped_doubled_and_taken_away() -> None:
    text = (
        '[keys]\nfork = "r"\nretry = "f"\nfold = ""\nqueue = ["alt+q", "super+q"]\ntop = "g g"\nend = "g e"\n'
    )
    settings = parse_settings(Path("config.toml"), text)
    assert settings.key_problems == ()
    assert dict(settings.keys.own) == {
        "fork": ("r",),
        "retry": ("f",),
        "fold": (),
        "queue": ("alt+q", "super+q"),
        "top": ("g g",),
        "end": ("g e",),
    }


def test_w20_a_key_that_begins_a_sequence_is_no_key_of_its_own() -> None:
    assert ['"e" is a key of `edit`, too' in each for each in _problems('[keys]\ntop = "e e"\n')] == [True]
    assert _problems('[keys]\ntop = "e e"\nedit = "i"\n') == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('frok = "x"', "`keys.frok` is not an action of a key; did you mean `fork`?"),
        ('xyzzy = "x"', "`catena keys` lists them"),
        ("fork = 1", "must be a key, a list of keys"),
        ('fork = ["f", 2]', "must be a key, a list of keys"),
        ('fork = "fork"', '"fork" is not a key'),
    ],
)
def test_w20_a_wrong_line_of_keys_is_named(line: str, words: str) -> None:
    with pytest.raises(InvalidSettings, match=re.escape(words)) as error:
        parse_settings(Path("config.toml"), f"[keys]\n{line}\n")
    assert error.value.line == 2


def test_w20_texts_name_the_keys_in_effect() -> None:
    keys = KeyMap({"fork": ("ctrl+b",), "queue": (), "row_up": ("alt+p",)})
    assert keys.fill("{stop} {stop}, {fork} while browsing") == "esc esc, ctrl+b while browsing"
    assert keys.fill("{queue}, {find}") == "ctrl+f"
    assert keys.fill("{row_up row_down}") == "alt+p ↓"
    assert DEFAULT_KEYS.fill("{row_up row_down}") == "↑↓"
    assert DEFAULT_KEYS.fill("{*tab_1 tab_2 tab_3}") == "1–3"
    assert keys.hints((("{queue}", "queue"), ("@", "files"), ("{find}", "find"))) == (
        ("@", "files"),
        ("ctrl+f", "find"),
    )
    assert keys.said("{Queue} opens it", "/queue opens it") == "/queue opens it"
    assert keys.said("{Find} finds") == "Ctrl+F finds"
