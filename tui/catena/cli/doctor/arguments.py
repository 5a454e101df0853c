"""Arguments of ``catena doctor``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catena.cli.parser import Command, Parser, Values


def _doctor_parser() -> Parser:
    parser = Parser(
        prog="catena doctor",
        description="Print diagnostics you can paste in a bug report.",
        examples=(
            ("catena doctor", "check this machine"),
            ("catena doctor --reset", "after a program was killed and left the terminal unusable"),
            ("catena doctor --backup ~/catena-backup.db", "copy the database while Catena runs"),
        ),
        statuses={
            0: "all is well",
            1: "database or settings cannot be used",
            2: "usage",
            5: "the database is in use",
        },
        values={"backup": Values.FILE},
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--reset", action="store_true", help="reset a terminal left in a bad state by a killed program"
    )
    what.add_argument(
        "--salvage",
        action="store_true",
        help="recover what can be read from a damaged database; the original is kept",
    )
    what.add_argument(
        "--backup", metavar="FILE", help="write a copy of the database to FILE; safe while Catena runs"
    )
    what.add_argument("--json", action="store_true", help="print the diagnostics as one JSON object")
    return parser


def _doctor(arguments: Sequence[str]) -> int:
    chosen = _doctor_parser().parse_args(arguments)
    if chosen.reset:
        from catena.cli.doctor.reset import reset_terminal

        return reset_terminal()
    if chosen.salvage:
        from catena.cli.doctor.store import salvage_store

        return salvage_store()
    if chosen.backup is not None:
        from catena.cli.doctor.store import back_up_store

        return back_up_store(chosen.backup)
    from catena.cli.doctor.findings import print_findings

    return print_findings(json=chosen.json)


COMMANDS: Mapping[str, Command] = {
    "doctor": Command(_doctor_parser, _doctor),
}
