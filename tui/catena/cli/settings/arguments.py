"""Arguments of the commands on settings: config, keys and permissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catena.cli.parser import Command, Parser
from catena.errors import CommandRefused
from catena.workspace.directories import absolute_directory


def _config(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="catena config",
        description="Print the settings in effect, each with where it comes from: the default, the settings file and "
        "its line, or the environment.",
        epilog="catena config set KEY VALUE writes a setting, catena config unset KEY removes it: the default holds; "
        "catena config edit opens the file in $EDITOR and checks it; catena config check only checks it",
        allow_abbrev=False,
    )
    parser.add_argument(
        "words", nargs="*", metavar="KEY", help="one setting, or those of a table; or set, unset, edit, check"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    chosen = parser.parse_args(arguments)
    if chosen.json and chosen.words[:1] in (["edit"], ["check"], ["set"], ["unset"]):
        parser.error(f"--json and {chosen.words[0]} cannot be combined")

    from catena.cli.settings import config

    match chosen.words:
        case [] | [_] as words if words not in (["edit"], ["check"], ["set"], ["unset"]):
            return config.print_config(words[0] if words else None, json=chosen.json)
        case ["edit"]:
            return config.edit_config()
        case ["check"]:
            return config.check_config()
        case ["set", key, value]:
            return config.set_config(key, value)
        case ["unset", key]:
            return config.unset_config(key)
        case words:
            why = _CONFIG_WORDS.get(words[0], "one setting at a time")
            raise CommandRefused(f"{why}. See catena config --help")


_CONFIG_WORDS = {
    "set": "needs a setting and its value: catena config set width 120",
    "unset": "needs a setting: catena config unset width",
    "edit": "edit opens the whole file",
    "check": "check reads the whole file",
}


def _keys(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="catena keys",
        description="Print every action that a key does, by place, with the keys in effect. The table [keys] of the "
        "settings changes them.",
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    chosen = parser.parse_args(arguments)

    from catena.cli.settings.keys import print_keys

    return print_keys(json=chosen.json)


def _permission_rules(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="catena permissions",
        description="Your own permission rules in a directory: list them, test which would answer a request, "
        "add or remove one. A rule that rejects beats one that allows; what is not certain asks.",
        allow_abbrev=False,
    )
    common = Parser(add_help=False)
    common.add_argument("--cwd", default=".", metavar="DIR", help="the project (default: current directory)")
    common.add_argument(
        "--conversation", metavar="ID", help="with the rules of a conversation: id, start of an id, or title"
    )
    common.add_argument("--json", action="store_true", help="print one JSON object")
    acts = parser.add_subparsers(dest="act", metavar="list | test | add | remove")
    acts.add_parser("list", parents=[common], help="list the rules, narrowest first (default)")
    for name, text in (("test", "say which rule would answer"), ("add", "add a rule")):
        act = acts.add_parser(name, parents=[common], help=text)
        act.add_argument("kind", metavar="KIND", help="read, edit, delete, move, search, execute, fetch, any")
        act.add_argument("text", metavar="INPUT" if name == "test" else "PATTERN")
        if name == "add":
            act.add_argument("--reject", action="store_true", help="reject instead of allowing")
    removal = acts.add_parser("remove", parents=[common], help="remove a rule")
    removal.add_argument("id", metavar="ID", help="the rule's id, from the list")
    chosen = parser.parse_args(arguments or ["list"])
    if chosen.act is None:
        parser.error("list, test, add or remove is needed")

    from catena.cli.settings.permissions import RuleRequest, answer_rules

    request = RuleRequest(
        absolute_directory(chosen.cwd), chosen.conversation, getattr(chosen, "kind", ""), json=chosen.json
    )
    match chosen.act:
        case "test":
            return answer_rules(request, test=chosen.text)
        case "add":
            return answer_rules(request, add=chosen.text, allow=not chosen.reject)
        case "remove":
            return answer_rules(request, remove=chosen.id)
        case _:
            return answer_rules(request)


COMMANDS: Mapping[str, Command] = {
    "config": _config,
    "keys": _keys,
    "permissions": _permission_rules,
}
