"""What stands below the tree: the end of the turn under the cursor, and what the next prompt there would need."""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from catena.text.safe_text import safe, safe_line
from catena.themes.variables import tells_code
from catena_store.records import Kind, Message

_LINES = 12  # of the answer, at most
_CHARACTERS = 2_000
_CODE = re.compile(r"`([^`\n]+)`")
_CODE_STYLE = "$inline on $code-ground"


class _Rule(Widget):
    """A dashed rule with a word in it."""

    DEFAULT_CSS = "_Rule { height: 1; color: $rule; }"

    def __init__(self) -> None:
        super().__init__()
        self._word = ""

    def show(self, word: str) -> None:
        """Show another word."""
        self._word = safe_line(word)
        self.refresh()

    def render(self) -> Content:
        """The rule over the whole column."""
        line = Content.assemble("╌ ", (self._word, "$muted"), " ")
        return line + Content("╌" * max(0, self.size.width - line.cell_length))


class BranchEnd(Vertical):
    """The end of a turn below a rule."""

    DEFAULT_CSS = """
    BranchEnd {
        height: 1fr;
        padding: 1 0 0 0;
        overflow: hidden;
        & > Static { height: auto; padding: 1 2 0 2; color: $muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._rule = _Rule()
        self._answer = Static("", id="answer", markup=False)
        self._price = Static("", id="price", markup=False)
        self._files = Static("", id="files", markup=False)

    def compose(self) -> ComposeResult:
        """Rule, answer, price, files."""
        yield self._rule
        yield self._answer
        yield self._price
        yield self._files

    def show(self, word: str, rows: Sequence[Message], price: str) -> None:
        """Show the end of a turn's rows, and a price."""
        self._rule.show(word)
        self._answer.update(_with_code(_end_of(rows), marked=not tells_code(self.app.current_theme)))
        self._price.update(Content(safe_line(price)))
        self.show_files("")

    def show_files(self, words: str, *, chosen: bool = False) -> None:
        """Show what becomes of files; ``chosen``: they go along."""
        self._files.display = bool(words)
        self._files.update(Content.styled(words, "bold $accent" if chosen else ""))

    def empty(self) -> None:
        """Show nothing but the rule."""
        self.show("", (), "")


def _with_code(text: str, *, marked: bool) -> Content:
    """A text with its inline code as the transcript has it; ``marked``: by its backticks, since no colour tells it."""
    if marked:
        return Content(text)
    pieces = _CODE.split(text)
    return Content.assemble(*((piece, _CODE_STYLE) if at % 2 else piece for at, piece in enumerate(pieces)))


def _end_of(rows: Sequence[Message]) -> str:
    """The last paragraph of the last answer."""
    answers = [row.text for row in rows if row.kind is Kind.AGENT and row.text.strip()]
    if not answers:
        return "No answer." if rows else ""
    paragraph = safe(answers[-1][-_CHARACTERS:]).strip().split("\n\n")[-1]
    return "\n".join(paragraph.split("\n")[-_LINES:])
