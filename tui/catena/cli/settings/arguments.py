"""Arguments of the commands on settings: config, keys and permissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catena.cli.parser import Command, Parser, Values
from catena.errors import CommandRefused
from catena.workspace.directories import absolute_directory


def _config_parser() -> Parser:
    parser = Parser(
        prog="catena config",
        description="Print the settings in effect, each with where it comes from: the default, the settings file and "
        "its line, or the environment.",
        examples=(
            ("catena config theme", "one setting; catena config checkpoints prints a table"),
            ("catena config set width 120", "write a setting; the rest of the file stays"),
            ("catena config unset width", "remove it: the default holds"),
            ("catena config edit", "open the file in $VISUAL or $EDITOR, then check it"),
            ("catena config check", "only check it"),
        ),
        statuses={0: "done", 1: "the file cannot be written", 2: "usage, invalid settings"},
        values={"words": Values.SETTING},
    )
    parser.add_argument(
        "words", nargs="*", metavar="KEY", help="one setting, or those of a table; or set, unset, edit, check"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    return parser


def _config(arguments: Sequence[str]) -> int:
    parser = _config_parser()
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


def _keys_parser() -> Parser:
    parser = Parser(
        prog="catena keys",
        description="Print every action that a key does, by place, with the keys in effect. The table [keys] of the "
        "settings changes them.",
        examples=(("catena keys | grep fork", "which keys fork"),),
        statuses={0: "done", 2: "usage, invalid settings"},
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    return parser


def _keys(arguments: Sequence[str]) -> int:
    chosen = _keys_parser().parse_args(arguments)

    from catena.cli.settings.keys import print_keys

    return print_keys(json=chosen.json)


def _permission_rules_parser() -> Parser:
    parser = Parser(
        prog="catena permissions",
        description="Your own permission rules in a directory: list them, test which would answer a request, "
        "add or remove one. A rule that rejects beats one that allows; what is not certain asks.",
        examples=(
            ("catena permissions", "the rules of this directory"),
            ("catena permissions add execute 'git status'", "allow a command"),
            ("catena permissions test execute 'git status -s'", "which rule would answer"),
        ),
        statuses={
            0: "done; of test: allowed",
            1: "of test: asks",
            2: "usage, unknown id",
            4: "of test: rejected",
        },
    )
    common = Parser(add_help=False)
    within = {"cwd": Values.DIRECTORY, "conversation": Values.CONVERSATION}
    common.add_argument("--cwd", default=".", metavar="DIR", help="the project (default: current directory)")
    common.add_argument(
        "--conversation", metavar="ID", help="with the rules of a conversation: id, start of an id, or title"
    )
    common.add_argument("--json", action="store_true", help="print one JSON object")
    acts = parser.add_subparsers(dest="act", metavar="list | test | add | remove")
    acts.add_parser("list", parents=[common], values=within, help="list the rules, narrowest first (default)")
    for name, text in (("test", "say which rule would answer"), ("add", "add a rule")):
        act = acts.add_parser(
            name,
            parents=[common],
            values=within,
            help=text,
            description=f"{text.capitalize()}.",
            examples=((f'catena permissions {name} execute "git status"', text),),
        )
        act.add_argument("kind", metavar="KIND", help="read, edit, delete, move, search, execute, fetch, any")
        if name == "test":
            act.add_argument("text", nargs="?", metavar="INPUT", help='or both at once: "KIND INPUT"')
        else:
            act.add_argument("text", metavar="PATTERN")
            act.add_argument("--reject", action="store_true", help="reject instead of allowing")
    removal = acts.add_parser("remove", parents=[common], values=within, help="remove a rule")
    removal.add_argument("id", metavar="ID", help="the rule's id, from the list")
    return parser


def _permission_rules(arguments: Sequence[str]) -> int:
    parser = _permission_rules_parser()
    options = not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help"))
    chosen = parser.parse_args(["list", *arguments] if options else arguments)
    if chosen.act is None:
        parser.error("list, test, add or remove is needed")

    from catena.cli.settings.permissions import RuleRequest, answer_rules

    kind, text = getattr(chosen, "kind", ""), getattr(chosen, "text", None)
    if chosen.act == "test" and text is None:
        kind, _, text = kind.strip().partition(" ")
        if not text.strip():
            parser.error("test needs a kind and an input, such as: catena permissions test edit src/x.py")
    request = RuleRequest(absolute_directory(chosen.cwd), chosen.conversation, kind, json=chosen.json)
    match chosen.act:
        case "test":
            return answer_rules(request, test=text)
        case "add":
            return answer_rules(request, add=text, allow=not chosen.reject)
        case "remove":
            return answer_rules(request, remove=chosen.id)
        case _:
            return answer_rules(request)


COMMANDS: Mapping[str, Command] = {
    "config": Command(_config_parser, _config),
    "keys": Command(_keys_parser, _keys),
    "permissions": Command(_permission_rules_parser, _permission_rules),
}
