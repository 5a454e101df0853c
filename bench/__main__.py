"""Measure, and write what came out: ``python -m bench [SCENARIO ...]``.

Every figure is the median of the repetitions, and the baseline runs beside Catena: on a shared machine only
ratios and CPU seconds mean much. ``RESULTS.md`` is written when all scenarios were run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench import branching, growing, keeping, mentions, reviewing, slow_line, snapshots, sources, streaming
from bench.endurance import long_branches, queues, streams, tabs
from bench.goals import Measured, table
from bench.process import kind_of_machine, versions
from bench.streaming import Figures
from bench.subject import BASELINE, CATENA, HERE, Subject, Unusable

ON_ANY_SUBJECT: tuple[Callable[[Subject, Path], Figures], ...] = (
    streaming.start,
    streaming.first_keys,
    streaming.typing,
    streaming.idle,
    streaming.two_thousand_words,
    streaming.twenty_thousand_words,
    streaming.steady_stream,
)
ON_CATENA: tuple[Callable[[Subject, Path], Figures], ...] = (
    keeping.replayed_by_agent,
    keeping.long_histories,
    keeping.resumed,
    keeping.kept_stream,
    streaming.two_panes,
    slow_line.streamed_over_a_slow_line,
    slow_line.scrolled_over_a_slow_line,
    slow_line.pasted_over_a_slow_line,
    branching.broad_tree,
    branching.switched_siblings,
    branching.lengths_compared,
    mentions.fifty_thousand_files,
    snapshots.kept_files,
    reviewing.many_changes,
)
WITHOUT_SCREEN: tuple[Callable[[Path], Figures], ...] = (
    keeping.search_in_a_million,
    keeping.history_keys,
    keeping.prior_context,
    keeping.very_long_reads,
    sources.other_tools,
    growing.messages_grow,
    growing.sessions_grow,
)
GROWING: tuple[Callable[[Subject, Path], Figures], ...] = (
    growing.places_grow,
    growing.conversations_grow,
    growing.turns_grow,
)
LASTING = (
    streams.hour_of_answers,
    streams.hour_in_one_answer,
    tabs.thousand_conversations,
    tabs.many_tabs,
    long_branches.very_long_conversation,
    queues.ten_thousand_queued,
)

RESULTS = HERE / "RESULTS.md"
RAW = HERE / "raw.jsonl"
HEADER = """\
# How fast it is

Written by `make bench`; do not edit. {machine}; {versions}; medians of {repeat}, {columns}×{rows}, all in one run.
*Textual's Markdown widget* is `bench/baseline_markdown.py`, measured beside Catena: what the same toolkit
does out of the box. CPU is that of the client alone, without the agent. On a shared machine believe ratios and
CPU, not seconds.
"""

GROWTH = """\
## As work grows

The same act at three sizes, each ten times the one before, by the CPU time that it takes to its end, a command's
from its start; or by the memory that is resident then. The *ratio of cost to size* is how much more the largest costs
than the one before, divided by how much larger it is: 0.10 for what does not depend on the size, 1.00 for what has to
read everything."""


def main() -> int:
    """Run what the command line names, everything by default."""
    names = [
        scenario.__name__ for scenario in (*ON_ANY_SUBJECT, *ON_CATENA, *WITHOUT_SCREEN, *GROWING, *LASTING)
    ]
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Catena.")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(names))
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="how often each is run (default 3)"
    )
    parser.add_argument("--no-baseline", action="store_true", help="leave the comparison out")
    parser.add_argument(
        "--full", action="store_true", help="what lasts (an hour, a thousand conversations) at full length"
    )
    parser.add_argument("--goals", action="store_true", help="only say what is to be reached")
    options = parser.parse_args()
    if options.goals:
        print("\n".join(_lines([])))
        return 0
    if unknown := set(options.scenarios) - set(names):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    chosen = set(options.scenarios or names)
    subjects = (CATENA,) if options.no_baseline else (CATENA, BASELINE)

    _warm_up(subjects)
    measured: list[Measured] = []
    unusable = False
    for repetition in range(options.repeat):
        for subject, name, run in _runs(chosen, subjects, first=repetition == 0, short=not options.full):
            try:
                with tempfile.TemporaryDirectory(prefix="catena-bench-") as folder:
                    result = Measured(subject, name, run(Path(folder) / "run"))
            except Unusable as error:
                print(f"{subject}: {name}: {error}", file=sys.stderr)
                unusable = True
                continue
            measured.append(result)
            _note(result)
    lines = _lines(measured)
    print(versions())
    print("\n".join(lines))
    if not options.scenarios and not options.no_baseline:
        header = HEADER.format(
            machine=kind_of_machine(), versions=versions(), repeat=options.repeat, columns=120, rows=40
        )
        RESULTS.write_text("\n".join([header, *lines]) + "\n")
    return 1 if unusable else 0


def _lines(measured: Sequence[Measured]) -> list[str]:
    return [*table(measured), "", *GROWTH.splitlines(), "", *growing.growth_table(measured)]


def _warm_up(subjects: tuple[Subject, ...]) -> None:
    """Start each once unmeasured: what is installed was started before, and has its bytecode."""
    for subject in subjects:
        with tempfile.TemporaryDirectory(prefix="catena-bench-") as folder:
            subject.warm_up(Path(folder) / "run")


def _runs(
    chosen: set[str], subjects: tuple[Subject, ...], *, first: bool, short: bool
) -> list[tuple[str, str, Callable[[Path], Figures]]]:
    """What to run, baseline and Catena in turn, so that a busy minute of the machine hits both."""

    def on(subject: Subject, scenario: Callable[[Subject, Path], Figures]) -> Callable[[Path], Figures]:
        return lambda folder: scenario(subject, folder)

    runs: list[tuple[str, str, Callable[[Path], Figures]]] = []
    for scenario in ON_ANY_SUBJECT:
        runs += [(subject.name, scenario.__name__, on(subject, scenario)) for subject in subjects]
    runs += [(CATENA.name, scenario.__name__, on(CATENA, scenario)) for scenario in ON_CATENA]
    if first:  # they have many samples each, and a million messages take minutes to write
        runs += [(CATENA.name, scenario.__name__, scenario) for scenario in WITHOUT_SCREEN]
        runs += [(CATENA.name, scenario.__name__, on(CATENA, scenario)) for scenario in GROWING]
        runs += [
            (CATENA.name, scenario.__name__, partial(scenario, CATENA, short=short)) for scenario in LASTING
        ]
    return [run for run in runs if run[1] in chosen]


def _note(result: Measured) -> None:
    figures = {name: round(value, 3) for name, value in result.figures.items()}
    line = json.dumps({"subject": result.subject, "scenario": result.scenario, **figures})
    print(line, flush=True)
    with RAW.open("a") as raw:
        raw.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
