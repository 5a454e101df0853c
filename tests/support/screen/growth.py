"""Answers that grow, and random acts on a branch and on the screen that shows it."""

from __future__ import annotations

import random
from dataclasses import replace

from catena.transcript.drawing.render_options import Palette, RenderOptions
from catena.transcript.messages.answer import AnswerParts
from catena.transcript.model.column import IN_GAP, Anchor
from catena.transcript.widget.viewport import Viewport
from catena_store.records import Kind, Message, MessageState
from support.screen.transcript import Writer, markdown, texts, viewport


def answer_rows(answer: AnswerParts, at: RenderOptions) -> list[str]:
    rows: list[str] = []
    for part in answer.parts:
        if lines := part.measure(at):
            rows += [""] * part.lead + texts(lines)
    return rows


def whole(text: str) -> AnswerParts:
    return AnswerParts(text, growing=False, style=lambda palette: palette.text)


def rows_of(view: Viewport) -> list[tuple[str, str]]:
    return [(row.entry.message.id, row.line.shown.rstrip() if row.line else "") for row in view.rows]


class Walk:
    """Random acts on a branch and on the screen that shows it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.writer = Writer()
        self.older = [self.message() for _ in range(self.chance.randint(0, 30))]
        self.newer: list[Message] = []
        newer = [self.message() for _ in range(self.chance.randint(0, 30))]
        self.size = self.some_size()
        self.view = viewport(newer, *self.size)
        self.growing: Message | None = None
        self.text = ""

    def some_size(self) -> tuple[int, int]:
        return self.chance.choice((30, 50, 80, 120)), self.chance.choice((5, 10, 24))

    def message(self) -> Message:
        chance, writer = self.chance, self.writer
        text = markdown(chance, 30)
        match chance.randint(0, 6):
            case 0:
                return writer.prompt(text)
            case 1:
                diff = {"type": "diff", "path": "a", "old": text, "new": markdown(chance, 30)}
                return writer.tool("edit", "do", content=[{"type": "text", "text": text}, diff])
            case 2:
                return writer.row(Kind.THOUGHT, text)
            case 3:
                entries = [{"text": "x " * chance.randint(1, 60), "status": "pending"}] * chance.randint(0, 4)
                return writer.row(Kind.PLAN, data={"entries": entries})
            case 4:
                return writer.row(Kind.SEAM, text)
            case _:
                return writer.answer(text, link=chance.choice("AB"))

    def step(self) -> None:
        view, chance = self.view, self.chance
        column, height = view.column, view.height
        act = chance.choice(
            (
                "up",
                "down",
                "up",
                "wheel",
                "home",
                "end",
                "size",
                "fold",
                "add",
                "add",
                "older",
                "newer",
                "cut",
                "grow",
                "grow",
            )
        )
        before, still = rows_of(view), not view.following and len(view.rows) == height
        match act:
            case "up" | "down":
                view.scroll_to(view.top + (height if act == "down" else -height))
            case "wheel":
                view.scroll_to(view.top + chance.choice((-3, -1, 1, 3)))
            case "home" if column.entries:
                view.go_to(Anchor(column.entries[0], IN_GAP, 0, 0))
                assert view.top == 0
            case "end":
                view.go_to(None)
                assert view.following is not bool(self.newer)
            case "size":
                self.size = self.some_size()
                view.resize(*self.size, Palette.plain())
            case "fold" if column.entries:
                entry = chance.choice(column.entries)
                if entry.foldable:
                    anchor = view.anchor()
                    column.fold(entry, not entry.folded)
                    view.go_to(anchor)
            case "add" if not self.newer:
                self.add(before if still else None)
            case "older" if self.older:
                self.add_older(before if still else None)
            case "newer" if self.newer:
                self.add_newer(before if still else None)
            case "cut" if self.growing is None:
                self.cut(before if still else None)
            case "grow":
                self.grow(before if still else None)

    def add(self, before: list[tuple[str, str]] | None) -> None:
        message = self.writer.growing() if self.growing is None else self.message()
        anchor = self.view.anchor()
        self.view.column.add(message)
        self.view.place(anchor)
        if self.growing is None:
            self.growing, self.text = message, ""
        elif before is not None and message.kind is not Kind.SEAM:
            assert rows_of(self.view) == before

    def add_older(self, before: list[tuple[str, str]] | None) -> None:
        count = self.chance.randint(1, len(self.older))
        page, self.older = self.older[-count:], self.older[:-count]
        entries = self.view.column.entries
        seam_first = bool(entries) and entries[0].message.kind is Kind.SEAM
        anchor = self.view.anchor()
        self.view.column.prepend(page)
        self.view.place(anchor)
        if before is not None and not seam_first:
            # The blank row above the first message may go, since two tool calls have none between them.
            assert rows_of(self.view)[1:] == before[1:]

    def add_newer(self, before: list[tuple[str, str]] | None) -> None:
        count = self.chance.randint(1, len(self.newer))
        page, self.newer = self.newer[:count], self.newer[count:]
        anchor = self.view.anchor()
        self.view.column.append(page)
        self.view.more_below = bool(self.newer)
        self.view.place(anchor)
        if before is not None and page[0].kind is not Kind.SEAM:
            assert rows_of(self.view) == before

    def cut(self, before: list[tuple[str, str]] | None) -> None:
        """Let go of what is above or below the screen."""
        view, column = self.view, self.view.column
        messages = sorted((entry.message for entry in column.entries), key=lambda each: each.depth)
        step = self.chance.choice((-1, 1))
        at = column.parting(view.top + view.height if step > 0 else view.top, step)
        if at is None or view.following or len(view.rows) < view.height:
            return
        kept = range(at) if step > 0 else range(at, messages[-1].depth + 1)
        gone = [each for each in messages if each.depth not in kept]
        if step > 0:
            self.newer = gone + self.newer
        else:
            self.older += gone
        anchor = view.anchor()
        column.cut(kept)
        view.more_below = bool(self.newer)
        view.place(anchor)
        if before is not None:
            assert rows_of(view)[1:] == before[1:]

    def grow(self, before: list[tuple[str, str]] | None) -> None:
        if self.growing is None:
            return
        text = markdown(self.chance, 6)
        self.text += text
        anchor = self.view.anchor()
        draw = not self.view.following
        if self.chance.random() < 0.2:
            self.view.column.change(
                replace(self.growing, text=self.text, state=MessageState.FINAL), draw=draw
            )
            self.view.place(anchor)
            self.growing = None
            return
        self.view.column.grow(self.growing.id, text, draw=draw)
        self.view.place(anchor)
        if before is not None:
            for old, new in zip(before, rows_of(self.view), strict=False):
                if self.growing.id in (old[0], new[0]):
                    break
                assert new == old

    def afresh(self) -> Viewport:
        """The same branch on a screen that sees all of it at once."""
        entries = sorted(self.view.column.entries, key=lambda entry: entry.message.depth)
        grown = [
            replace(entry.message, text=entry.answer.text)
            if entry.answer is not None and entry.answer.growing
            else entry.message
            for entry in entries
        ]
        unfolded = [message_id for message_id, folded in self.view.column.folds.items() if not folded]
        return viewport(grown, self.size[0], 100_000, unfolded=unfolded)
