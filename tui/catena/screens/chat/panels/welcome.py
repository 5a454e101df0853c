"""The welcome that an empty conversation shows instead of a transcript."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from catena.text.safe_text import safe


class Welcome(Widget):
    """The agent, its directory, and the keys worth knowing."""

    DEFAULT_CSS = """
    Welcome { height: 1fr; padding: 1 2; color: $muted; content-align: left bottom; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._agent = ""
        self._where = ""
        self._note = ""

    def show(self, *, agent: str, where: str, note: str = "") -> None:
        """Name the agent and the directory."""
        self._agent, self._where, self._note = safe(agent), safe(where), safe(note)
        self.refresh()

    def render(self) -> Content:
        """The agent and the directory, then the keys."""
        if not self._agent:
            return Content("")
        lines = [
            Content.assemble(("catena", "bold $accent"), f"   {self._agent} in {self._where}"),
            Content(""),
        ]
        if self._note:
            lines += [Content(self._note), Content("")]
        narrow = self.size.width < 56
        for key, does in (
            ("/", "commands"),
            ("ctrl+o", "history"),
            ("shift+tab", "browse" if narrow else "browse the transcript by keyboard"),
            ("f1", "help"),
        ):
            lines.append(Content.assemble((f"{key:<10}", "$foreground"), (does, "$faint")))
        return Content("\n").join(lines)
