"""Compared branches in words."""

from __future__ import annotations

from string import ascii_uppercase

from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.inspection.tree import BranchTail, Comparison
from catena_store.records import Kind


def letter(at: int) -> str:
    """The letter of a branch by its place from the left; a number behind Z."""
    return ascii_uppercase[at] if at < len(ascii_uppercase) else f"{at + 1}"


def shared_words(comparison: Comparison) -> str:
    """Where branches split, in words."""
    tails = comparison.tails
    every = "Both" if len(tails) == 2 else f"All {len(tails)}"
    if prompts := comparison.shared_prompts:
        return f"{every} start with the same {'prompt' if prompts == 1 else counted(prompts, 'prompt')}."
    first = [_first_prompt(tail) for tail in tails]
    if first[0] is not None and len({*first}) == 1:
        return f"{every} answer the same first prompt."
    return "They split at the first prompt."


def shown_words(first: int, shown: int, of: int) -> str:
    """Which of the compared answers stand on the screen: `Answers 1–2 of 3`."""
    if shown == 1:
        return f"Answer {first + 1} of {of}"
    return f"Answers {first + 1}–{first + shown} of {of}"


def _first_prompt(tail: BranchTail) -> str | None:
    """The text of a branch's first prompt; None where it is not known."""
    return None if tail.left_out else next((row.text for row in tail.rows if row.kind is Kind.USER), None)
