"""The welcome that an empty conversation shows instead of a transcript."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from catena.text.formats import cell_width, truncate_left
from catena.text.safe_text import safe_line


class Welcome(Widget):
    """The mark, the agent and its directory, in the middle."""

    DEFAULT_CSS = """
    Welcome { height: 1fr; content-align: center middle; text-align: center; color: $muted; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._words = ("", "", False)

    def show(self, *, agent: str, where: str, ready: bool) -> None:
        """Name the agent and the directory; not ``ready``: it is starting, or something is wrong with it."""
        words = (safe_line(agent), safe_line(where), ready)
        if words != self._words:
            self._words = words
            self.refresh()

    def render(self) -> Content:
        """The mark, then the agent and the directory."""
        agent, where, is_ready = self._words
        if not agent:
            return Content("")
        bead, link = ("●", "$accent"), ("─", "$faint")
        mark = Content.assemble(bead, link, bead, link, bead, (" catena", "bold $foreground"))
        width = max(8, self.size.width - 4)
        said = f"{agent}{' is ready' if is_ready else ''} in "
        where = truncate_left(where, max(8, width - cell_width(said)))
        words = Content.assemble(said, (where, "$foreground"))
        return Content("\n").join([mark, Content(""), words.truncate(width, ellipsis=True)])
