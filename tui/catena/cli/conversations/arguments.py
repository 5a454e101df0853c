"""Arguments of the commands on kept conversations: list, search, show, prune, export, replay and import."""

from __future__ import annotations

import argparse
from argparse import SUPPRESS, Namespace
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from catena.cli.parser import (
    Command,
    Example,
    Parser,
    Unfitting,
    Values,
    add_conversation,
    add_directory_filter,
    count,
)
from catena.workspace.directories import absolute_directory, existing_directory


def _list_parser() -> Parser:
    parser = Parser(
        prog="catena list",
        description="List conversations, newest first.",
        examples=(
            ("catena list --cwd", "those of this directory"),
            ("catena list --all-sources", "also those of other tools"),
            ("catena list --json --limit 0", "all of them, for a script"),
        ),
        statuses={0: "done", 2: "usage"},
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    add_directory_filter(parser)
    parser.add_argument(
        "--limit", type=count, default=50, metavar="N", help="show at most N (default: 50; 0 for all)"
    )
    parser.add_argument(
        "--all-sources",
        action="store_true",
        help="also list the sessions of Claude Code, Codex, Gemini CLI, Qwen Code and OpenCode",
    )
    return parser


def _list(chosen: Namespace) -> int:
    from catena.cli.conversations.list import print_list

    return print_list(
        cwd=None if chosen.cwd is None else existing_directory(chosen.cwd),
        limit=chosen.limit or None,
        json=chosen.json,
        all_sources=chosen.all_sources,
    )


def _search_parser() -> Parser:
    parser = Parser(
        prog="catena search",
        description="Find conversations: by title, directory and last prompt, and by every message of every branch.",
        details="Filters among the words: agent:NAME dir:PATH file:PATH branch:NAME before:DATE after:DATE is:STATE "
        "cost>N todo pinned archived.",
        examples=(
            ("catena search login form", "both words, in titles or in one message"),
            ("catena search agent:claude after:2026-01-01 migration", "with filters"),
            (
                "catena --resume \"$(catena search -1 --json login | jq -r '.[0].conversation')\"",
                "open the best match",
            ),
        ),
        statuses={0: "found", 1: "nothing found or other error", 2: "usage"},
    )
    parser.add_argument("words", nargs="+", metavar="WORDS", help="words to find, and filters")
    parser.add_argument("--json", action="store_true", help="print a JSON array, best first")
    parser.add_argument("-1", action="store_true", dest="best", help="only the best match")
    add_directory_filter(parser)
    parser.add_argument(
        "--limit", type=count, default=20, metavar="N", help="show at most N (default: 20; 0 for all)"
    )
    return parser


def _search(chosen: Namespace) -> int:
    from catena.cli.conversations.search import print_found

    return print_found(
        " ".join(chosen.words),
        cwd=None if chosen.cwd is None else existing_directory(chosen.cwd),
        limit=1 if chosen.best else chosen.limit or None,
        json=chosen.json,
    )


def _show_parser() -> Parser:
    parser = Parser(
        prog="catena show",
        description="Print a conversation: its current branch, or everything with --json.",
        examples=(
            ("catena show ID", "what was said"),
            ("catena show ID --tree", "its branches"),
            ("catena show ID --chain", "its sessions, and why each was used"),
        ),
        statuses={0: "done", 2: "usage, unknown id"},
        values={"turn": Values.MESSAGE},
    )
    add_conversation(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="print everything as one JSON object: messages, turns, links, windows",
    )
    form.add_argument("--chain", action="store_true", help="print its sessions instead")
    form.add_argument(
        "--turn",
        metavar="MESSAGE",
        help="print only the turn of this message, its changes whole: its id or the start of it",
    )
    form.add_argument("--at", dest="turn", help=SUPPRESS)  # as scripts had it before
    parser.add_argument(
        "--tree",
        action="store_true",
        help="print all its branches instead, one line per prompt; also with --json",
    )
    return parser


def _show(chosen: Namespace) -> int:
    if chosen.tree and (chosen.chain or chosen.turn is not None):
        raise Unfitting("--tree cannot be combined with --chain or --turn")

    if chosen.tree:
        from catena.cli.conversations.show import print_tree

        return print_tree(chosen.id, json=chosen.json)
    if chosen.chain:
        from catena.cli.conversations.show import print_chain

        return print_chain(chosen.id)
    if chosen.turn is not None:
        from catena.cli.conversations.show import print_turn

        return print_turn(chosen.id, chosen.turn)
    from catena.cli.conversations.show import print_conversation

    return print_conversation(chosen.id, json=chosen.json)


def _prune_parser() -> Parser:
    parser = Parser(
        prog="catena prune",
        description="List old conversations and their size; with --yes, remove them for good. Conversations "
        "that are pinned, open in a tab or in a running Catena, or that have a labelled checkpoint, an unsent draft or "
        "a queued prompt stay, and so do messages that forks need.",
        examples=(
            ("catena prune --older-than 6m", "what would go"),
            ("catena prune --older-than 6m --yes", "remove it for good"),
        ),
        statuses={0: "done", 1: "other error", 2: "usage"},
        values={"agent": Values.AGENT},
    )
    parser.add_argument(
        "--older-than",
        type=_age,
        metavar="AGE",
        help="those unused for AGE, or deleted that long ago: 30d, 12w, 6m (months) or 1y",
    )
    parser.add_argument("--keep", type=count, metavar="N", help="keep the newest N of those selected")
    parser.add_argument(
        "--agent", metavar="NAME", help="only those of an agent: a name from `catena agents` or the settings"
    )
    add_directory_filter(parser)
    parser.add_argument("--yes", action="store_true", help="remove them; cannot be undone")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _prune(chosen: Namespace) -> int:
    if chosen.older_than is None and chosen.keep is None:
        raise Unfitting("--older-than or --keep is needed")

    from catena.cli.conversations.keeping import prune
    from catena.settings.agents import stored_names
    from catena.settings.settings import load_settings
    from catena_store.ids import utc_now
    from catena_store.keeping.selection import PruneRule

    agent, profile = stored_names(chosen.agent, load_settings()) if chosen.agent else (None, None)
    rule = PruneRule(
        unused_since=None if chosen.older_than is None else utc_now() - chosen.older_than,
        keep=chosen.keep or 0,
        agent=agent,
        profile=profile,
        cwd=None if chosen.cwd is None else absolute_directory(chosen.cwd),
    )
    return prune(rule, yes=chosen.yes, json=chosen.json)


def _prune_prompts_parser() -> Parser:
    parser = Parser(
        prog="catena prune prompts",
        description="Count the prompts in the prompt history, all or those with a text in them; with --yes, remove "
        "them for good. Conversations stay as they are.",
        examples=(("catena prune prompts password --yes", "remove those with this word"),),
        statuses={0: "done", 1: "other error", 2: "usage"},
    )
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="only those with TEXT in them")
    parser.add_argument("--yes", action="store_true", help="remove them; cannot be undone")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _prune_prompts(chosen: Namespace) -> int:
    from catena.cli.conversations.keeping import prune_prompts

    return prune_prompts(chosen.text, yes=chosen.yes, json=chosen.json)


_MOST_DAYS = 50_000  # before any conversation
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


def _age(text: str) -> timedelta:
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdecimal() and unit in _DAYS):
        raise argparse.ArgumentTypeError(f"{text} is not an age; write 30d, 12w, 6m or 1y")
    return timedelta(days=min(int(number[:6]) * _DAYS[unit], _MOST_DAYS))


def _export_parser() -> Parser:
    parser = Parser(
        prog="catena export",
        description="Write a conversation as Markdown, JSON or HTML: its current branch, another one, or all of them. "
        "What looks like a secret is masked, and listed on standard error.",
        examples=(
            ("catena export ID > chat.md", "Markdown"),
            ("catena export ID --format html -o chat.html", "one file that opens offline"),
            ("catena export ID --format json --tree -o chat.json", "everything, for catena import"),
        ),
        statuses={0: "done", 1: "the file cannot be written", 2: "usage, unknown id"},
        values={"at": Values.MESSAGE, "output": Values.FILE},
    )
    add_conversation(parser)
    parser.add_argument(
        "--format",
        choices=["markdown", "json", "html"],
        default="markdown",
        help="markdown (default); json, for `catena import`; html, one file that opens offline",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--tree", action="store_true", help="all branches, with source and forks")
    which.add_argument("--at", metavar="MESSAGE", help="the branch that ends with this message")
    parser.add_argument("-o", "--output", metavar="FILE", help="write this file, readable only by you")
    parser.add_argument("--force", action="store_true", help="with -o: write over an existing file")
    parser.add_argument("--no-mask", action="store_true", help="do not mask secrets")
    return parser


def _export(chosen: Namespace) -> int:
    if chosen.force and chosen.output is None:
        raise Unfitting("--force needs -o")

    from catena.cli.conversations.export import export
    from catena.export.forms import ExportForm

    return export(
        chosen.id,
        form=ExportForm(chosen.format),
        tree=chosen.tree,
        at=chosen.at,
        path=chosen.output,
        force=chosen.force,
        masked=not chosen.no_mask,
    )


def _replay_parser() -> Parser:
    parser = Parser(
        prog="catena replay",
        description="Play a conversation as the screen showed it: its current branch, or another one. Long waits are "
        "shortened. What looks like a secret is masked. Nothing is sent to an agent.",
        details="keys: space pause, left and right the prompt before and the next one, + and - speed, q quit",
        examples=(
            ("catena replay ID", "play it here"),
            ("catena replay ID --cast chat.cast", "write it as an asciicast"),
        ),
        statuses={0: "done", 1: "the file cannot be written", 2: "usage, unknown id"},
        values={"at": Values.MESSAGE, "cast": Values.FILE},
    )
    add_conversation(parser)
    parser.add_argument("--at", metavar="MESSAGE", help="the branch that ends with this message")
    parser.add_argument(
        "--cast",
        metavar="FILE",
        help="write an asciicast instead, with a marker for each prompt; - for standard output",
    )
    parser.add_argument("--force", action="store_true", help="with --cast: write over an existing file")
    parser.add_argument("--speed", type=_speed, default=1.0, metavar="N", help="N times as fast (default: 1)")
    parser.add_argument("--width", type=_cells, metavar="N", help="with --cast: columns (default: 100)")
    parser.add_argument("--height", type=_cells, metavar="N", help="with --cast: rows (default: 30)")
    parser.add_argument("--no-mask", action="store_true", help="do not mask secrets")
    return parser


def _replay(chosen: Namespace) -> int:
    if chosen.cast is None:
        for option in ("force", "width", "height"):
            if getattr(chosen, option):
                raise Unfitting(f"--{option} needs --cast")

    from catena.cli.conversations.replay import replay

    return replay(
        chosen.id,
        at=chosen.at,
        cast=chosen.cast,
        force=chosen.force,
        speed=chosen.speed,
        size=(chosen.width, chosen.height),
        masked=not chosen.no_mask,
    )


_SPEEDS = (0.1, 100.0)
_CELLS = (20, 500)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not _SPEEDS[0] <= speed <= _SPEEDS[1]:
        raise argparse.ArgumentTypeError(f"{text} is not a speed from {_SPEEDS[0]:g} to {_SPEEDS[1]:g}")
    return speed


def _cells(text: str) -> int:
    if not (text.isdecimal() and _CELLS[0] <= int(text[:6]) <= _CELLS[1]):
        raise argparse.ArgumentTypeError(f"{text} is not a number from {_CELLS[0]} to {_CELLS[1]}")
    return int(text)


def _import_parser() -> Parser:
    parser = Parser(
        prog="catena import",
        description="Read conversations from files: what `catena export --format json` wrote, and transcripts of "
        "Claude Code, Codex, Gemini CLI and Qwen Code. Importing a file twice adds nothing.",
        examples=(
            ("catena import chat.json", "on another machine, with all branches"),
            ("catena import ~/.claude/projects/*/ID.jsonl", "a session of Claude Code"),
        ),
        statuses={0: "done", 1: "a file could not be imported", 2: "usage"},
        values={"files": Values.FILE},
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file to read")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    return parser


def _import(chosen: Namespace) -> int:
    from catena.cli.conversations.imports import import_files

    return import_files(chosen.files, json=chosen.json)


def _named_parser(
    name: str, description: str, example: Example, statuses: Mapping[int, str] | None = None
) -> Parser:
    parser = Parser(
        prog=f"catena {name}",
        description=description,
        examples=(example,),
        statuses={
            0: "done",
            1: "other error",
            2: "usage, unknown id",
            5: "conversation open in another Catena",
        }
        | dict(statuses or {}),
    )
    add_conversation(parser)
    return parser


def _rename_parser() -> Parser:
    parser = _named_parser(
        "rename", "Give a conversation a title.", ('catena rename ID "Login form"', "its title in every list")
    )
    parser.add_argument("title", nargs="+", metavar="TITLE", help="the title")
    return parser


def _rename(chosen: Namespace) -> int:
    from catena.acts.conversations import rename
    from catena.cli.conversations.keeping import keep_house

    return keep_house(partial(rename, title=" ".join(chosen.title).strip()), chosen.id)


def _pin_parser() -> Parser:
    return _named_parser(
        "pin",
        "Pin a conversation, so that lists show it first and `catena prune` spares it, or unpin a pinned one.",
        ("catena pin ID", "and once more to unpin it"),
    )


def _pin(chosen: Namespace) -> int:
    from catena.acts.conversations import pin
    from catena.cli.conversations.keeping import keep_house

    return keep_house(pin, chosen.id)


def _archive_parser() -> Parser:
    return _named_parser(
        "archive",
        "Archive a conversation: its tab closes, and it moves to the end of the history. /undo in its directory "
        "restores it.",
        ("catena archive ID", "it can still be found and opened"),
    )


def _archive(chosen: Namespace) -> int:
    from catena.acts.conversations import archive
    from catena.cli.conversations.keeping import keep_house

    return keep_house(archive, chosen.id)


def _delete_parser() -> Parser:
    parser = _named_parser(
        "delete",
        "Delete a conversation: lists hide it and its tab closes. /undo in its directory restores it, until "
        "`catena prune` removes it for good.",
        ("catena delete ID", "here, and not at its agents"),
        {130: "declined"},
    )
    parser.add_argument(
        "--everywhere", action="store_true", help="also at its agents, which cannot be undone; asks"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser


def _delete(chosen: Namespace) -> int:
    from catena.acts.conversations import delete
    from catena.cli.conversations.keeping import keep_house

    command = None if chosen.yes else f"catena delete {chosen.id} --everywhere"
    wish = "everywhere" if chosen.everywhere else ""
    return keep_house(partial(delete, wish=wish), chosen.id, command=command)


COMMANDS: Mapping[str, Command] = {
    "list": Command(_list_parser, _list),
    "search": Command(_search_parser, _search),
    "show": Command(_show_parser, _show),
    "rename": Command(_rename_parser, _rename),
    "pin": Command(_pin_parser, _pin),
    "archive": Command(_archive_parser, _archive),
    "delete": Command(_delete_parser, _delete),
    "prune": Command(_prune_parser, _prune),
    "prune prompts": Command(_prune_prompts_parser, _prune_prompts),
    "export": Command(_export_parser, _export),
    "replay": Command(_replay_parser, _replay),
    "import": Command(_import_parser, _import),
}
