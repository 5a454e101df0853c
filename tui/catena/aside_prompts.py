"""What is asked for a summary and for the text of a pull request: fixed, and written down in docs/asides.md."""

from __future__ import annotations

SUMMARY = (
    "Summarise this conversation for somebody who goes on with the work and has read none of it: what was wanted, what "
    "was decided and why, what was done (name the files and the commands), what is still open, and what to do next. "
    "Leave out what led nowhere, unless it must not be tried again. Answer in Markdown with the summary alone, in the "
    "language of the conversation."
)
PULL_REQUEST = (
    "Draft the text of a pull request for the work of this conversation: on the first line a title of at most 70 "
    "characters; after an empty line what was changed and why, how it was tested and what came of that, and what a "
    "reviewer should look at first. Claim nothing that was not done here. Answer in Markdown with that text alone."
)


def with_wish(prompt: str, wish: str) -> str:
    """The prompt, with what the person adds on a line of its own."""
    return f"{prompt}\n\n{wish}" if wish else prompt
