"""What is to be reached, and the table that says whether it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Key = tuple[str, str, str]  # subject, scenario, figure


@dataclass(frozen=True, slots=True)
class Goal:
    """One figure that must not be exceeded."""

    what: str
    scenario: str
    figure: str
    at_most: float
    unit: str
    times_baseline: bool = False  # at_most is a multiple of what the baseline has in the same run


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of one run of a scenario."""

    subject: str
    scenario: str
    figures: Mapping[str, float]


GOALS = (
    Goal("from exec to a typed key on the screen", "start", "echo_ms", 1.2, "ms", times_baseline=True),
    Goal("from exec to a typed key on the screen: to the terminal", "start", "bytes", 1_500, "bytes"),
    Goal("20 keys/s in the first three seconds: the longest wait", "first_keys", "key_longest_ms", 50, "ms"),
    Goal("memory before an agent starts", "start", "memory_mib", 40, "MiB"),
    Goal("memory with an agent", "start", "memory_with_agent_mib", 68, "MiB"),
    Goal("2,000 words flat out: CPU", "two_thousand_words", "cpu_s", 0.15, "s"),
    Goal("20,000 words flat out: CPU", "twenty_thousand_words", "cpu_s", 0.3, "s"),
    Goal("20,000 words flat out: until the last is shown", "twenty_thousand_words", "shown_s", 1.0, "s"),
    Goal("20,000 words flat out: memory", "twenty_thousand_words", "memory_growth_mib", 5, "MiB more"),
    Goal("60 chunks/s and typing: CPU", "steady_stream", "cpu_percent", 15, "% of a core"),
    Goal("60 chunks/s and typing: key to screen, p95", "steady_stream", "key_p95_ms", 16, "ms"),
    Goal("60 chunks/s and typing: to the terminal", "steady_stream", "bytes_per_s", 10_000, "bytes/s"),
    Goal("two panes with 60 chunks/s each: to the terminal", "two_panes", "bytes_per_s", 20_000, "bytes/s"),
    Goal("a key: to the terminal", "typing", "bytes_per_key", 40, "bytes"),
    Goal("idle: to the terminal", "idle", "bytes_per_s", 0, "bytes/s"),
    Goal("idle: CPU", "idle", "cpu_percent", 0.5, "% of a core"),
    Goal(
        "20 kB/s, 150 ms each way: key to screen during an answer, p95",
        "streamed_over_a_slow_line",
        "key_p95_ms",
        400,
        "ms",
    ),
    Goal("20 kB/s, 150 ms each way: Esc to the agent", "streamed_over_a_slow_line", "cancel_ms", 300, "ms"),
    Goal(
        "20 kB/s, 150 ms each way: key to screen while Page Up is held, p95",
        "scrolled_over_a_slow_line",
        "key_p95_ms",
        1_000,
        "ms",
    ),
    Goal(
        "20 kB/s, 150 ms each way: a paste of 100 kB, lost",
        "pasted_over_a_slow_line",
        "lost",
        0,
        "characters",
    ),
    Goal("500 messages replayed by the agent", "replayed_by_agent", "seconds", 0.3, "s"),
    Goal("500 messages replayed: memory", "replayed_by_agent", "memory_growth_mib", 15, "MiB more"),
    Goal("10,000 messages opened: to the first screen", "long_histories", "open_ms", 50, "ms"),
    Goal("10,000 messages opened: page up, p95", "long_histories", "page_up_p95_ms", 16, "ms"),
    Goal("10,000 messages opened: memory", "long_histories", "memory_growth_mib", 15, "MiB more"),
    Goal("5 MB of transcript resumed: from exec to its end", "resumed", "shown_ms", 500, "ms"),
    Goal("the list of 10,000 conversations", "long_histories", "list_ms", 100, "ms"),
    Goal(
        "the list of 10,000 conversations: key to screen, p95", "long_histories", "list_key_p95_ms", 30, "ms"
    ),
    Goal("a tree of 300 prompts: to the screen", "broad_tree", "shown_ms", 100, "ms"),
    Goal("10,000 messages: from sibling to sibling, p95", "switched_siblings", "p95_ms", 50, "ms"),
    Goal(
        "100,000 messages: a switch and back, CPU, times that of 1,000",
        "lengths_compared",
        "switch_ratio",
        2,
        "×",
    ),
    Goal("100,000 messages: a prompt, CPU, times that of 1,000", "lengths_compared", "prompt_ratio", 2, "×"),
    Goal("the history of 10,000 conversations: its first page", "history_keys", "first_page_ms", 30, "ms"),
    Goal("the history of 10,000 conversations: a key, CPU, p95", "history_keys", "key_p95_cpu_ms", 30, "ms"),
    Goal(
        "a mention among 50,000 files: to the first rows", "fifty_thousand_files", "first_rows_ms", 100, "ms"
    ),
    Goal(
        "a mention among 50,000 files: a letter, CPU, p95", "fifty_thousand_files", "key_cpu_p95_ms", 30, "ms"
    ),
    Goal("a snapshot of 50,000 files, none of them changed", "kept_files", "warm_ms", 300, "ms"),
    Goal("a snapshot of 50,000 files, 1,000 of them changed", "kept_files", "changed_ms", 1_000, "ms"),
    Goal("1,000 changed files brought back", "kept_files", "restore_s", 2, "s"),
    Goal("20,000 changed lines in 200 files: to the screen", "many_changes", "shown_ms", 100, "ms"),
    Goal("20,000 changed lines: from hunk to hunk, p95", "many_changes", "hunk_p95_ms", 16, "ms"),
    Goal("search in 1,000,000 messages, p95", "search_in_a_million", "p95_ms", 200, "ms"),
    Goal("search for the most frequent words, p95", "search_in_a_million", "frequent_p95_ms", 200, "ms"),
    Goal("search for two letters, p95", "search_in_a_million", "two_letters_p95_ms", 200, "ms"),
    Goal("search for both with a rare filter, p95", "search_in_a_million", "filter_p95_ms", 200, "ms"),
    Goal("prior context of 20 rows", "prior_context", "p50_ms", 1.0, "ms"),
    Goal("500 sessions of 1 MB of other tools: listed", "other_tools", "listed_ms", 1_000, "ms"),
    Goal("500 sessions of 1 MB of other tools: listed again", "other_tools", "again_ms", 100, "ms"),
    Goal("a session of 1 MB of another tool: adopted", "other_tools", "adopted_ms", 500, "ms"),
    Goal("keeping a stream: transactions", "kept_stream", "transactions_per_s", 5, "a second"),
    Goal("keeping a stream: CPU", "kept_stream", "cpu_percent", 0.5, "% of a core"),
    Goal(
        "sixty answers in an hour, 1,000 chunks: memory",
        "hour_of_answers",
        "kib_per_1000_chunks",
        40,
        "KiB more",
    ),
    Goal(
        "one answer of an hour, 1,000 chunks: memory",
        "hour_in_one_answer",
        "kib_per_1000_chunks",
        60,
        "KiB more",
    ),
    Goal(
        "1,000 conversations opened and closed: memory",
        "thousand_conversations",
        "kib_per_1000_conversations",
        10_000,
        "KiB more",
    ),
    Goal("a tab beside many: memory", "many_tabs", "kib_per_tab", 300, "KiB more"),
    Goal("many tabs: to the next one, p95", "many_tabs", "step_p95_ms", 50, "ms"),
    Goal("a very long conversation: to its beginning", "very_long_conversation", "home_ms", 100, "ms"),
    Goal("a very long conversation: to its end", "very_long_conversation", "end_ms", 100, "ms"),
    Goal("a very long conversation: its first prompt found", "very_long_conversation", "find_ms", 100, "ms"),
    Goal(
        "a very long conversation, 1,000 messages read: memory",
        "very_long_conversation",
        "kib_per_1000_messages",
        4_000,
        "KiB more",
    ),
    Goal(
        "a very long conversation: its topmost page, CPU, times that of the first",
        "very_long_conversation",
        "page_ratio",
        2,
        "×",
    ),
    Goal(
        "10,000 queued prompts, 1,000 of them: memory",
        "ten_thousand_queued",
        "kib_per_1000_prompts",
        4_000,
        "KiB more",
    ),
    Goal(
        "10,000 queued prompts: the last one, CPU, times that of the first",
        "ten_thousand_queued",
        "queue_ratio",
        2,
        "×",
    ),
)


def medians(measured: Sequence[Measured]) -> dict[Key, float]:
    """The median of each figure over the repetitions."""
    values: dict[Key, list[float]] = {}
    for run in measured:
        for figure, value in run.figures.items():
            values.setdefault((run.subject, run.scenario, figure), []).append(value)
    return {key: median(found) for key, found in values.items()}


def table(measured: Sequence[Measured]) -> list[str]:
    """One Markdown row for each goal."""
    found = medians(measured)
    lines = [
        "| what | Catena | goal | | Textual's Markdown widget | ratio |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for goal in GOALS:
        ours = found.get(("catena", goal.scenario, goal.figure))
        theirs = found.get(("baseline", goal.scenario, goal.figure))
        ratio = ours / theirs if ours is not None and theirs else None
        allowed = f"{goal.at_most} × the widget" if goal.times_baseline else number(goal.at_most)
        verdict = _verdict(goal, ratio if goal.times_baseline else ours)
        lines.append(
            f"| {goal.what}, {goal.unit} | {number(ours)} | {allowed} | {verdict} "
            f"| {number(theirs)} | {'' if ratio is None else f'{ratio:.2f}'} |"
        )
    return lines


def _verdict(goal: Goal, value: float | None) -> str:
    if value is None:
        return "not measured"
    return "met" if value <= goal.at_most else "**short**"


def number(value: float | None) -> str:
    """A figure with as many digits as say something; "" where there is none."""
    if value is None:
        return ""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
