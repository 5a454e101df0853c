"""What an agent is asked beside the conversation for a summary and for a pull request."""

from __future__ import annotations

from typing import Final

SUMMARY: Final = (
    "Summarise this conversation for somebody who goes on with the work and has read none of it: what was wanted, what "
    "was decided and why, what was done (name the files and the commands), what is still open, and what to do next. "
    "Leave out what led nowhere, unless it must not be tried again. Answer in Markdown with the summary alone, in the "
    "language of the conversation."
)
PULL_REQUEST: Final = (
    "Draft the text of a pull request for the work of this conversation: on the first line a title of at most 70 "
    "characters; after an empty line what was changed and why, how it was tested and what came of that, and what a "
    "reviewer should look at first. Claim nothing that was not done here. Answer in Markdown with that text alone."
)


def with_wish(prompt: str, wish: str) -> str:
    """Append the wish of the person to a prompt, as a paragraph."""
    return f"{prompt}\n\n{wish}" if wish else prompt
