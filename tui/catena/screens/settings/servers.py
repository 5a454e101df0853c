"""The MCP servers of a conversation: where each is from, whether it is sent, and the answer to those of the project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from catena.acts.settings import (
    NO_SERVERS_FILE,
    answer_for_servers,
    server_place,
    server_state,
    unanswered_servers,
)
from catena.keys.bindings import priority_bindings
from catena.screens.common.dialog import ListScreen, list_bindings
from catena.screens.common.page import SCROLL_KEYS, PageScreen, ReadingPane, ReadingScreen
from catena.terminal.times import KeyPace
from catena.text.formats import from_home
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row, RowList, Tone, Word
from catena.widgets.sheet_edges import SheetKey, SheetWords, Subject
from catena_acp.conversation.access.allowances import ConversationServers, ListedServers
from catena_acp.mcp.servers import (
    NOT_ALLOWED_YET,
    PROJECT_FILE_NAME,
    McpServer,
    ProjectFile,
    ServerChoice,
    ServerOrigin,
)

_HIDDEN = "(hidden)"
_WRONG = "wrong-"  # with its place, the key of what cannot be used
_REFERENCE = re.compile(r"(?:[A-Za-z]+ )?\$\{[^}]*\}")  # a value that is no secret, as it only names one
_GROUPS = {
    ServerOrigin.CONVERSATION: "This conversation",
    ServerOrigin.SETTINGS: "Settings file",
    ServerOrigin.PROJECT: f"This project ({PROJECT_FILE_NAME})",
}


class ServersScreen(ListScreen[str | None]):
    """The servers, in the order in which sessions get them."""

    HEADING = "MCP servers"
    EMPTY = "no MCP servers; add one with [mcp.NAME] in the settings file"
    KEYS = (
        SheetKey("{servers_allow}", "allow the project's", "allow"),
        SheetKey("{servers_refuse}", "do not use them", "refuse"),
        SheetKey("{server_details}", "details", "details"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = list_bindings(KEYS)

    def __init__(
        self,
        servers: ConversationServers,
        window_id: str,
        *,
        subject: Subject,
        pace: KeyPace,
    ) -> None:
        super().__init__(subject)
        self._servers = servers
        self._window_id = window_id
        self._pace = pace
        self._listed: ListedServers | None = None

    async def on_mount(self) -> None:
        """Read the servers."""
        await self.attempt(self._read())

    async def _read(self) -> None:
        self._listed = listed = await self._servers.listed(self._window_id)
        rows = list(server_rows(listed))
        self.show_head(self.HEADING, count=f"{len(rows):,}")
        self.row_list.show(rows, keep=self.chosen_key)
        if words := unanswered_servers(listed):
            self.say(f"{words}.")

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Show the details of the row that was clicked."""
        event.stop()
        self.action_details()

    def action_details(self) -> None:
        """Show everything about the server under the cursor, without the person's secrets."""
        key, listed = self.chosen_key, self._listed
        if listed is None or key is None:
            return
        if listed.project is not None and key.startswith(_WRONG):
            self.say(listed.project.wrong[int(key.removeprefix(_WRONG))])
        if not key.isdecimal():
            return
        choice = listed.choices[int(key)]
        lines = details(choice, listed)
        page = PageScreen(choice.server.name, Content("\n".join(lines)), subject=self.subject)
        self.app.push_screen(page)

    def action_allow(self) -> None:
        """Show all that the file of the project would start, however small the screen, and ask."""
        listed = self._listed
        if listed is None or (project := listed.project) is None:
            self.say(NO_SERVERS_FILE)
            return
        if not project.servers:
            self.say(f"Nothing in {PROJECT_FILE_NAME} can be used.")
            return

        def answer(allowed: bool | None) -> None:
            if allowed is not None:
                self._answer(listed, allowed=allowed)

        self.app.push_screen(AllowScreen(project, listed, subject=self.subject, pace=self._pace), answer)

    def action_refuse(self) -> None:
        """Do not use what the file of the project says."""
        if self._listed is not None:
            self._answer(self._listed, allowed=False)

    def _answer(self, listed: ListedServers, *, allowed: bool) -> None:
        """Keep the answer about the file as it was shown."""

        async def answer() -> None:
            words = await self.finish(answer_for_servers(self._servers, listed, allowed=allowed))
            await self._read()
            self.say(words)

        self.run_worker(self.attempt(answer()))


class AllowScreen(ReadingScreen[bool]):
    """Everything that a project's file would start, in full, and the question whether it may; None: not decided."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *priority_bindings(
            leave="leave",
            cancel="leave",
            close_page="leave",
            next_page="page(1)",
            servers_confirm="confirm",
            servers_refuse="refuse",
        ),
        *SCROLL_KEYS,
    ]

    def __init__(
        self, project: ProjectFile, listed: ListedServers, *, subject: Subject, pace: KeyPace
    ) -> None:
        super().__init__(SheetWords("Allow these servers?", f"{len(project.servers):,}", subject))
        self._project = project
        self._listed = listed
        self._pace = pace

    def compose(self) -> ComposeResult:
        """Head, every server of the file, keys."""
        yield from self.compose_head()
        with ReadingPane(id="text"):
            yield Static(Content("\n").join(_in_full(self._project, self._listed)), markup=False)
        yield from self.compose_foot(
            SheetKey("{servers_confirm}", "allow", "confirm"),
            SheetKey("{servers_refuse}", "do not use them", "refuse"),
            SheetKey("{row_up row_down}", "scroll"),
            SheetKey("{leave}", "decide later", "leave"),
        )

    def action_confirm(self) -> None:
        """Allow them, unless the key was part of a word, or the end has not been seen."""
        reader = self.reader
        if not self._pace.alone:
            self.say("Press again to confirm.")
        elif reader.scroll_offset.y < reader.max_scroll_y:
            reader.scroll_relative(y=max(1, reader.size.height - 2), animate=False)
            self.say("There is more: scroll to the end.")
        else:
            self.dismiss(True)

    def action_refuse(self) -> None:
        """Do not use them."""
        self.dismiss(False)


def _in_full(project: ProjectFile, listed: ListedServers) -> Iterator[Content]:
    """Every server that a file would start, with all that is passed to it."""
    yield Content.styled(f"{safe_line(from_home(project.path))} starts with each session:", "$muted")
    of_project = [each for each in listed.choices if each.server.origin is ServerOrigin.PROJECT]
    for choice in of_project:
        server = choice.server
        yield Content("")
        yield Content.assemble(
            (safe_line(server.name), "bold"), ("" if server.enabled else "  disabled", "$muted")
        )
        yield Content(f"  {server_place(server)}")
        for name, value in (*server.env, *server.headers):
            yield Content.styled(f"  {safe_line(f'{name} = {value}')}", "$muted")


def server_rows(listed: ListedServers) -> Iterator[Row]:
    """A row for each server, and for what of the project's file cannot be used."""
    for at, choice in enumerate(listed.choices):
        server = choice.server
        yield Row(
            str(at),
            server.name,
            note=server_state(choice, listed),
            mark=_mark(choice),
            group=_GROUPS[server.origin],
            detail=server_place(server),
            dim=choice.sent is None and not choice.unexpected and choice.why != NOT_ALLOWED_YET,
        )
    for at, wrong in enumerate(listed.project.wrong if listed.project else ()):
        name, _, why = wrong.rpartition(": ")
        yield Row(
            f"{_WRONG}{at}",
            name or PROJECT_FILE_NAME,
            note=f"cannot be used: {why}",
            mark=Word("!", Tone.FAILURE),
            group=_GROUPS[ServerOrigin.PROJECT],
        )
    if listed.own is not None:
        yield Row("own", listed.own, note="sent", mark=Word("✓", Tone.MUTED), group="Catena")


def _mark(choice: ServerChoice) -> Word:
    if choice.sent is not None:
        return Word("✓", Tone.MUTED)
    if choice.why == NOT_ALLOWED_YET:
        return Word("?", Tone.ASKING)
    return Word("!", Tone.FAILURE) if choice.unexpected else Word("○", Tone.FAINT)


def details(choice: ServerChoice, listed: ListedServers) -> list[str]:
    """Everything about a server, a line each, without the person's secrets."""
    server = choice.server
    origin = _GROUPS[server.origin]
    if server.origin is ServerOrigin.PROJECT and listed.project is not None:
        origin = safe_line(from_home(listed.project.path))
    lines = [
        f"From        {origin}",
        f"State       {safe_line(server_state(choice, listed))}",
        f"Transport   {server.transport}",
        f"{'Address' if server.url else 'Command'}     {server_place(server)}",
    ]
    for title, pairs in (("Environment", server.env), ("Headers", server.headers)):
        lines += ["", title] if pairs else []
        lines += [f"  {safe_line(f'{name} = {_value(value, server)}')}" for name, value in pairs]
    return lines


def _value(value: str, server: McpServer) -> str:
    """A value without its secret; a project's as it stands in its file: whoever allows it has to see it."""
    if server.origin is ServerOrigin.PROJECT or _REFERENCE.fullmatch(value):
        return value
    return _HIDDEN
