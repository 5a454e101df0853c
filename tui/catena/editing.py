"""A prompt that is being said anew: while it stands in the composer, the tab's draft waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catena_store.records import Attachment, Message


@dataclass(frozen=True, slots=True)
class LeftEdit:
    """What had been made of a prompt when its edit was left; it comes back where that prompt is edited again."""

    text: str
    files: tuple[Attachment, ...]


@dataclass(slots=True)
class Editing:
    """The edit of one prompt. What is attached to the edit is what the tab has attached meanwhile."""

    prompt: Message
    text: str  # as it stands in the composer
    draft_files: tuple[Attachment, ...]  # attached to the draft that waits
    price: str  # what sending it would need, in words
    priced_for: object  # what that depended on
    read_at: int | None  # the place in the transcript where one was before
    prompt_files: Sequence[Attachment] = ()

    def differs(self, files: Sequence[Attachment]) -> bool:
        """True where something was changed of the prompt, or of what came with it."""
        return self.text != self.prompt.text or list(files) != list(self.prompt_files)
