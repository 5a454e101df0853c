"""What is typed in insert mode, and the change that `.` repeats with it."""

from __future__ import annotations

from dataclasses import dataclass

from catena.keys.vim.commands import VimCommand


@dataclass(frozen=True, slots=True)
class Inserted:
    """What was typed in insert mode: characters that were deleted before it, and the text."""

    back: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Where insert mode began, and how often what is typed is to stand there."""

    text: str
    at: int
    times: int = 1
    lines: bool = False  # each time on a line of its own
    of_command: bool = True  # which `.` does again

    def typed(self, text: str, cursor: int) -> Inserted | None:
        """What was typed here, by the text and cursor now; None if something else was done to the text as well."""
        rest = self.text[self.at :]
        if not text.endswith(rest) or cursor != len(text) - len(rest):
            return None
        before, now = self.text[: self.at], text[: len(text) - len(rest)]
        pairs = zip(before, now, strict=False)
        same = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(before), len(now)))
        return Inserted(self.at - same, now[same:])


@dataclass(frozen=True, slots=True)
class Repeatable:
    """The change that `.` repeats; ``size``: of what was selected, in lines and in characters of the last one."""

    command: VimCommand
    inserted: Inserted = Inserted()
    size: tuple[int, int, bool] | None = None
