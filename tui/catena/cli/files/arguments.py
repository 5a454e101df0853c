"""Arguments of the commands on files: changes, files and blame."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from catena.cli.parser import Command, Parser, Unfitting, Values, add_conversation

_AT = (
    "At a prompt, files are as after all turns above it; at the last message of a turn, as they were after it. Files "
    "that someone else changed since are left unless they are named."
)


def _changes_parser() -> Parser:
    parser = Parser(
        prog="catena changes",
        description="Print what agents changed in files, on the current branch of a conversation: one difference for "
        "each file.",
        examples=(
            ("catena changes ID", "all that agents changed, as text"),
            ("catena changes ID --turn MESSAGE", "in the turn of this message"),
            ("catena changes ID --patch | git apply -R -", "undo it, and no line of yours"),
        ),
        statuses={0: "done", 1: "a file is left out of the patch; other error", 2: "usage, unknown id"},
        values={"turn": Values.MESSAGE},
    )
    add_conversation(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--turn", metavar="MESSAGE", help="only of the turn of this message: its id or the start of it"
    )
    which.add_argument("--branch", action="store_true", help="of the whole branch (default)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--patch", action="store_true", help="print a patch for `git apply`")
    return parser


def _changes(chosen: Namespace) -> int:
    from catena.cli.files.changes import print_changes

    return print_changes(chosen.id, turn=chosen.turn, json=chosen.json, patch=chosen.patch)


def _files_parser() -> Parser:
    parser = Parser(
        prog="catena files",
        description="Print what each turn did to files, on the current branch of a conversation; with --at, what "
        "restoring the files as they were at a message would change.",
        details=_AT,
        examples=(
            ("catena files ID", "what each turn did to files"),
            ("catena files ID --at MESSAGE --diff", "what restoring them would change, as a patch"),
        ),
        statuses={0: "done", 1: "other error", 2: "usage, unknown id"},
        values={"at": Values.MESSAGE},
    )
    add_conversation(parser)
    parser.add_argument("--at", metavar="MESSAGE", help="id of a message, or the start of one")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--diff", action="store_true", help="with --at: print a patch for `git apply`")
    form.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _files(chosen: Namespace) -> int:
    if chosen.at is None and chosen.diff:
        raise Unfitting("--diff needs --at")

    from catena.cli.files import files

    if chosen.at is None:
        return files.print_turns(chosen.id, json=chosen.json)
    return files.print_restore(chosen.id, chosen.at, diff=chosen.diff, json=chosen.json)


def _restore_parser() -> Parser:
    parser = Parser(
        prog="catena files restore",
        description="Restore the files of a conversation as they were at a message: print what would change, "
        "and do it with --yes.",
        details=_AT,
        examples=(
            ("catena files restore ID --at MESSAGE", "list what would be restored"),
            ("catena files restore ID --at MESSAGE --yes", "restore the files"),
        ),
        statuses={0: "done", 1: "a file changed meanwhile; other error", 2: "usage, unknown id"},
        values={"paths": Values.FILE, "at": Values.MESSAGE},
    )
    add_conversation(parser)
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="only these, also if someone else changed them since"
    )
    parser.add_argument("--at", required=True, metavar="MESSAGE", help="id of a message, or the start of one")
    parser.add_argument("--yes", action="store_true", help="do it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _restore(chosen: Namespace) -> int:
    from catena.cli.files.files import print_restore

    return print_restore(chosen.id, chosen.at, paths=chosen.paths, yes=chosen.yes, json=chosen.json)


def _ending_parser(name: str, description: str) -> Parser:
    parser = Parser(
        prog=f"catena files {name}",
        description=description,
        examples=((f"catena files {name} ID", "as the error says that names the conversation"),),
        statuses={0: "done", 1: "other error", 2: "usage, unknown id; nothing was interrupted"},
    )
    add_conversation(parser)
    return parser


def _finish_parser() -> Parser:
    return _ending_parser("finish", "Finish an interrupted restore of files.")


def _finish(chosen: Namespace) -> int:
    from catena.cli.files.files import RestoreEnding, end_restore

    return end_restore(chosen.id, RestoreEnding.FINISH)


def _undo_parser() -> Parser:
    return _ending_parser("undo", "Undo an interrupted restore of files.")


def _undo(chosen: Namespace) -> int:
    from catena.cli.files.files import RestoreEnding, end_restore

    return end_restore(chosen.id, RestoreEnding.UNDO)


def _blame_parser() -> Parser:
    parser = Parser(
        prog="catena blame",
        description="Print which prompt wrote each line of a file as it is now, over all conversations of its "
        "directory. Lines that snapshots cannot attribute are shown as unknown.",
        details="Columns: id of the prompt; ● on its conversation's branch, ○ on a branch that was left, ~ as the "
        "agent reported it; age; agent; line. catena show ID --turn PROMPT prints the turn; catena --resume ID opens "
        "the conversation.",
        examples=(("catena blame src/app.py:10-20", "who wrote these lines"),),
        statuses={0: "done", 1: "other error", 2: "usage"},
        values={"file": Values.FILE},
    )
    parser.add_argument("file", metavar="FILE[:LINE[-LINE]]", help="a file, or some lines of one")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _blame(chosen: Namespace) -> int:
    from catena.cli.files.blame import print_blame

    return print_blame(chosen.file, json=chosen.json)


COMMANDS: Mapping[str, Command] = {
    "changes": Command(_changes_parser, _changes),
    "files": Command(_files_parser, _files),
    "files restore": Command(_restore_parser, _restore, mixed=True),
    "files finish": Command(_finish_parser, _finish),
    "files undo": Command(_undo_parser, _undo),
    "blame": Command(_blame_parser, _blame),
}
