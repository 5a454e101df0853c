"""Arguments of the commands on settings: config, keys and permissions."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from catena.cli.parser import Command, Example, Parser, Unfitting, Values
from catena.workspace.directories import absolute_directory

if TYPE_CHECKING:
    from catena.cli.settings.permissions import RuleRequest

_KINDS = "read, edit, delete, move, search, execute, fetch, any"


_CONFIG = {0: "done", 1: "the file cannot be written", 2: "usage, invalid settings"}


def _config_parser() -> Parser:
    parser = Parser(
        prog="catena config",
        description="Print the settings in effect, each with where it comes from: the default, the settings file and "
        "its line, or the environment.",
        examples=(("catena config theme", "one setting; catena config checkpoints prints a table"),),
        statuses={0: "done", 2: "usage, invalid settings"},
        values={"key": Values.SETTING},
    )
    parser.add_argument("key", nargs="?", metavar="KEY", help="one setting, or those of a table")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    return parser


def _config(chosen: Namespace) -> int:
    from catena.cli.settings.config import print_config

    return print_config(chosen.key, json=chosen.json)


def _set_parser() -> Parser:
    parser = Parser(
        prog="catena config set",
        description="Write a setting into the settings file, whose other lines stay.",
        details="A value that is not valid for the setting is refused.",
        examples=(
            ("catena config set width 120", "a word or a number"),
            ("catena config set export.mask '[\"ACME-[0-9]+\"]'", "a list, in TOML"),
        ),
        statuses=_CONFIG,
        values={"key": Values.SETTING, "value": Values.OF_SETTING},
    )
    parser.add_argument("key", metavar="KEY", help="a setting")
    parser.add_argument("value", metavar="VALUE", help="its value")
    return parser


def _set(chosen: Namespace) -> int:
    from catena.cli.settings.config import set_config

    return set_config(chosen.key, chosen.value)


def _unset_parser() -> Parser:
    parser = Parser(
        prog="catena config unset",
        description="Remove a setting from the settings file: its default applies.",
        examples=(("catena config unset width", "the rest of the file stays"),),
        statuses=_CONFIG,
        values={"key": Values.SETTING},
    )
    parser.add_argument("key", metavar="KEY", help="a setting")
    return parser


def _unset(chosen: Namespace) -> int:
    from catena.cli.settings.config import unset_config

    return unset_config(chosen.key)


def _edit_parser() -> Parser:
    return Parser(
        prog="catena config edit",
        description="Open the settings file in your editor ($VISUAL, $EDITOR, or vi), and then check it.",
        examples=(("catena config edit", "a file that does not exist yet is made"),),
        statuses=_CONFIG,
    )


def _edit(chosen: Namespace) -> int:
    from catena.cli.settings.config import edit_config

    return edit_config()


def _check_parser() -> Parser:
    return Parser(
        prog="catena config check",
        description="Check the settings file, including the names of the theme and the agent.",
        examples=(("catena config check", "names errors, with their lines"),),
        statuses={0: "all is well", 2: "usage, invalid settings"},
    )


def _check(chosen: Namespace) -> int:
    from catena.cli.settings.config import check_config

    return check_config()


def _keys_parser() -> Parser:
    parser = Parser(
        prog="catena keys",
        description="Print every key action by place, with its keys in effect. The table [keys] of the "
        "settings changes them.",
        examples=(("catena keys | grep fork", "which keys fork"),),
        statuses={0: "done", 2: "usage, invalid settings"},
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    return parser


def _keys(chosen: Namespace) -> int:
    from catena.cli.settings.keys import print_keys

    return print_keys(json=chosen.json)


def _rules_parser(name: str = "permissions") -> Parser:
    return _rule_parser(
        name,
        "Your own permission rules in a directory, the narrowest first. A rule that rejects beats one that allows. "
        "If no rule is certain, you are asked.",
        ("catena permissions", "the rules of this directory"),
    )


def _rules(chosen: Namespace) -> int:
    from catena.cli.settings.permissions import answer_rules

    return answer_rules(_request(chosen))


def _rule_parser(
    name: str, description: str, example: Example, *, statuses: Mapping[int, str] | None = None
) -> Parser:
    parser = Parser(
        prog=f"catena {name}",
        description=description,
        examples=(example,),
        statuses=statuses or {0: "done", 2: "usage, unknown id"},
        values={"cwd": Values.DIRECTORY, "conversation": Values.CONVERSATION, "kind": Values.KIND},
    )
    parser.add_argument("--cwd", default=".", metavar="DIR", help="the project (default: current directory)")
    parser.add_argument(
        "--conversation", metavar="ID", help="with the rules of a conversation: id, start of an id, or title"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _request(chosen: Namespace, kind: str = "") -> RuleRequest:
    from catena.cli.settings.permissions import RuleRequest

    return RuleRequest(absolute_directory(chosen.cwd), chosen.conversation, kind, json=chosen.json)


def _test_parser() -> Parser:
    parser = _rule_parser(
        "permissions test",
        "Say which of your permission rules would answer a request.",
        ("catena permissions test execute 'ls -l'", "which rule would answer"),
        statuses={0: "allowed", 1: "asks", 2: "usage, unknown id", 4: "rejected"},
    )
    parser.add_argument("kind", metavar="KIND", help=_KINDS)
    parser.add_argument("text", nargs="?", metavar="INPUT", help='or both at once: "KIND INPUT"')
    return parser


def _test(chosen: Namespace) -> int:
    kind, text = chosen.kind, chosen.text
    if text is None:
        kind, _, text = kind.strip().partition(" ")
        if not text.strip():
            raise Unfitting("test needs a kind and an input, such as: catena permissions test edit src/x.py")

    from catena.cli.settings.permissions import answer_rules

    return answer_rules(_request(chosen, kind), test=text)


def _add_parser() -> Parser:
    parser = _rule_parser(
        "permissions add",
        "Add a permission rule, which applies in a directory or in a conversation.",
        ("catena permissions add execute 'git status'", "allow a command"),
    )
    parser.add_argument("kind", metavar="KIND", help=_KINDS)
    parser.add_argument("text", metavar="PATTERN", help="the beginning of a command, a path, or a host")
    parser.add_argument("--reject", action="store_true", help="reject instead of allowing")
    return parser


def _add(chosen: Namespace) -> int:
    from catena.cli.settings.permissions import answer_rules

    return answer_rules(_request(chosen, chosen.kind), add=chosen.text, allow=not chosen.reject)


def _remove_parser() -> Parser:
    parser = _rule_parser(
        "permissions remove", "Remove a permission rule.", ("catena permissions remove RULE", "by its id")
    )
    parser.add_argument("id", metavar="RULE", help="the rule's id, from the list")
    return parser


def _remove(chosen: Namespace) -> int:
    from catena.cli.settings.permissions import answer_rules

    return answer_rules(_request(chosen), remove=chosen.id)


COMMANDS: Mapping[str, Command] = {
    "config": Command(_config_parser, _config),
    "config set": Command(_set_parser, _set),
    "config unset": Command(_unset_parser, _unset),
    "config edit": Command(_edit_parser, _edit),
    "config check": Command(_check_parser, _check),
    "keys": Command(_keys_parser, _keys),
    "permissions": Command(_rules_parser, _rules),
    "permissions list": Command(partial(_rules_parser, "permissions list"), _rules),
    "permissions test": Command(_test_parser, _test),
    "permissions add": Command(_add_parser, _add),
    "permissions remove": Command(_remove_parser, _remove),
}
