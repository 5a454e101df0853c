"""The environment of a conversation's turns: further directories, MCP servers, the git work tree, session settings.

None of it may keep a prompt from going out: what cannot be read is left out, what an agent refuses is told. Small files
are read without waiting for a directory that hangs.

MCP servers are the conversation's own, the settings', and those of its project's file. They are chosen anew whenever a
session is opened, so that what changed holds for the next one. An open session that could have others is opened again
with the next prompt, by the way of the directories.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    Problem,
    Remarked,
    SessionState,
    Troubled,
)
from catena_acp.continuity.services import Services
from catena_acp.continuity.sessions.session_state import option_of_category
from catena_acp.continuity.sessions.sessions import LiveSession
from catena_acp.continuity.sessions.settings import MODE, apply_settings, ask_first, wanted_on
from catena_acp.errors import AgentGone
from catena_acp.mcp.servers import (
    PROJECT_FILE_NAME,
    ProjectFile,
    Recipient,
    ServerChoice,
    choose_servers,
    read_project_file,
)
from catena_acp.port.abilities import Abilities
from catena_acp.port.port import AgentSpec, SessionSetup
from catena_acp.trouble.troubles import Trouble
from catena_store.chains import environments, turns
from catena_store.conversations import conversations, permission_rules
from catena_store.database.database import Writer
from catena_store.errors import StoreError
from catena_store.records import TurnEnvironment
from catena_store.windows import windows

_MOST_BYTES = 4 * 1024 * 1024  # of a file that is read; packed references can be long
_MOST_LINKS = 5  # references that lead to references
_HEADS = "refs/heads/"

Found = TypeVar("Found")

_READING_SECONDS = 1.0  # a network directory that hangs must not hold up a prompt


@dataclass(frozen=True, slots=True)
class GitPlace:
    """A work tree and what is checked out in it."""

    worktree: str  # its top directory
    branch: str | None  # None on a commit of no branch
    commit: str | None  # None before the first one


def git_place(directory: str) -> GitPlace | None:
    """The work tree that the directory is in; None if it is in none, or if that cannot be read. Blocks."""
    try:
        top = Path(directory).resolve()
        for place in (top, *top.parents):
            if (git := _git_directory(place / ".git")) is not None:
                return _read(place, git)
    except (OSError, RuntimeError, ValueError):
        return None
    return None


def _git_directory(dot_git: Path) -> Path | None:
    """The directory that `.git` is, or the one that it names in a work tree of its own."""
    if dot_git.is_dir():
        return dot_git if (dot_git / "HEAD").is_file() else None
    if not dot_git.is_file():
        return None
    named = _text(dot_git).removeprefix("gitdir:").strip()
    return (dot_git.parent / named).resolve() if named else None


def _read(worktree: Path, git: Path) -> GitPlace | None:
    head = _text(git / "HEAD").strip()
    common = git
    if (git / "commondir").is_file():
        common = (git / _text(git / "commondir").strip()).resolve()
    if not head.startswith("ref:"):
        return GitPlace(str(worktree), None, head) if _is_commit(head) else None
    reference = head.removeprefix("ref:").strip()
    branch = reference.removeprefix(_HEADS)
    return GitPlace(str(worktree), branch, _commit(git, common, reference))


def _commit(git: Path, common: Path, reference: str) -> str | None:
    for _ in range(_MOST_LINKS):
        if ".." in Path(reference).parts:
            return None
        loose = next((base / reference for base in (git, common) if (base / reference).is_file()), None)
        if loose is None:
            return _packed(common / "packed-refs", reference)
        said = _text(loose).strip()
        if not said.startswith("ref:"):
            return said if _is_commit(said) else None
        reference = said.removeprefix("ref:").strip()
    return None


def _packed(path: Path, reference: str) -> str | None:
    if not path.is_file():
        return None
    for line in _text(path).splitlines():
        commit, _, name = line.partition(" ")
        if name == reference and _is_commit(commit):
            return commit
    return None


def _is_commit(text: str) -> bool:
    return len(text) in (40, 64) and all(character in "0123456789abcdef" for character in text)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "replace")


class Environment:
    """The environment of one live conversation's turns."""

    def __init__(
        self, services: Services, conversation_id: str, publish: Callable[[ConversationEvent], None]
    ) -> None:
        self._services = services
        self._conversation_id = conversation_id
        self._publish = publish
        self._come_back: set[str] = set()  # windows whose difference to before was looked for
        self._told_of_directories: set[tuple[str, str]] = set()  # window and agent
        self._git = DirectoryReading(git_place)
        self.directories: tuple[str, ...] = ()  # as they were given, whether or not they are still there
        self.servers = _SessionServers(services, conversation_id, publish)

    async def load(self) -> None:
        """Read which directories and MCP servers the conversation was given."""
        with contextlib.suppress(StoreError):
            async with self._services.db.read() as reader:
                self.directories = await conversations.further_directories(reader, self._conversation_id)
        await self.servers.load()

    @property
    def existing_directories(self) -> tuple[str, ...]:
        """The further directories that are there: an agent refuses a session for one that is not."""
        return tuple(path for path in self.directories if _is_directory(path))

    def outgrown(self, live: LiveSession, place: SessionSetup) -> bool:
        """True if the session could have directories or servers that it was not opened with, or has lost some."""
        abilities = live.agent.abilities
        if not abilities.reopens or abilities.quirks.load_destroys:
            return False
        moved = abilities.additional_directories and live.directories != place.additional_directories
        return moved or live.servers != place.mcp_servers

    async def git(self, cwd: str) -> GitPlace | None:
        """The git work tree of the working directory, read in a thread."""
        return await self._git.of(cwd)

    async def remark_changes(self, window_id: str, leaf_id: str | None, cwd: str) -> None:
        """Remark, once for a window, what differs from the branch's last turn: work tree and directories."""
        if window_id in self._come_back:
            return
        self._come_back.add(window_id)
        if leaf_id is None:
            return
        gone = [path for path in self.directories if not _is_directory(path)]
        before: TurnEnvironment | None = None
        with contextlib.suppress(StoreError):
            async with self._services.db.read() as reader:
                turn_id = await turns.newest_on(reader, leaf_id)
                before = await environments.of_turn(reader, turn_id) if turn_id else None
        moved = difference(before, await self.git(cwd)) if before else None
        if moved:
            self._publish(Remarked(window_id, moved))
        if gone:
            self._publish(Remarked(window_id, f"No longer exists, left out: {', '.join(gone)}."))

    async def apply_settings(self, live: LiveSession, leaf_id: str | None, window_id: str) -> None:
        """Apply the branch's mode, model and options to a session that was just opened; publish what was refused."""
        self._tell_of_directories(live, window_id)
        self.servers.tell(live, window_id)
        async with self._services.db.read() as reader:
            wanted = await wanted_on(reader, leaf_id, window_id, live.agent.spec.name)
        refused = await apply_settings(live, wanted) if wanted else []
        if refused:
            text = f"{live.state.agent_title} did not accept all earlier settings: {'; '.join(refused)}."
            self._publish(Troubled(window_id, Problem(Trouble.REFUSED, text)))
        if self._services.asks_first and (words := await self._asks_first(live)):
            self._publish(Remarked(window_id, words))

    @staticmethod
    async def _asks_first(live: LiveSession) -> str | None:
        try:
            return await ask_first(live)
        except AgentGone:
            return None  # who prompts next will say so

    def _tell_of_directories(self, live: LiveSession, window_id: str) -> None:
        key = (window_id, live.agent.spec.name)
        if not self.directories or live.agent.abilities.additional_directories:
            return
        if key not in self._told_of_directories:
            self._told_of_directories.add(key)
            where = ", ".join(self.directories)
            self._publish(
                Remarked(
                    window_id,
                    f"{live.state.agent_title} does not support additional directories; "
                    f"it can still ask Catena for files in {where}.",
                )
            )

    async def note_choice(self, window_id: str, live: LiveSession, option: str, value: str | bool) -> None:
        """Store an option that the person chose, until a turn has it in force."""
        with contextlib.suppress(StoreError):
            async with self._services.db.write() as tx:
                await windows.choose(tx, window_id, live.agent.spec.name, option, value)

    async def note_in_force(self, window_id: str, live: LiveSession) -> None:
        """Store the session's mode and model as the person's choice, whatever its last turn had."""
        for option in live.state.options:
            if option.category in ("mode", "model"):
                await self.note_choice(window_id, live, option.id, option.value)
        if option_of_category(live.state, "mode") is None and live.state.mode:
            await self.note_choice(window_id, live, MODE, live.state.mode)

    async def note_beginning(
        self, tx: Writer, turn_id: str, state: SessionState, git: GitPlace | None
    ) -> None:
        """Store the environment of a turn that begins, in its transaction."""
        with contextlib.suppress(StoreError):
            await environments.put(
                tx,
                TurnEnvironment(
                    turn_id=turn_id,
                    options=options_of(state),
                    directories=self.directories,
                    git_branch=git.branch if git else None,
                    git_worktree=git.worktree if git else None,
                    git_commit=git.commit if git else None,
                ),
            )


async def note_end(tx: Writer, turn_id: str, state: SessionState) -> None:
    """Store the options in force at a turn's end, in its transaction."""
    used, size = (state.usage.used, state.usage.size) if state.usage else (None, None)
    with contextlib.suppress(StoreError):
        await environments.set_at_end(tx, turn_id, options_of(state), used, size)


def options_of(state: SessionState) -> dict[str, str | bool]:
    """The session's options that can be set, by their ids."""
    return {option.id: option.value for option in state.options if option.kind in ("select", "boolean")}


def difference(before: TurnEnvironment, now: GitPlace | None) -> str | None:
    """In one line, how the work tree differs from what a turn found; None if it does not, as far as is known."""
    if before.git_worktree is None:
        return None
    if now is None:
        return f"The directory was in a git work tree{_on(before.git_branch, None)}; it no longer is."
    if before.git_worktree != now.worktree:
        was = f"{before.git_worktree}{_on(before.git_branch, None)}"
        return f"The work tree was {was}, now it is {now.worktree}{_on(now.branch, None)}."
    if before.git_branch != now.branch:
        was, is_now = _on(before.git_branch, before.git_commit), _on(now.branch, now.commit)
        return f"The work tree was{was}, now{is_now}."
    return None


def _on(branch: str | None, commit: str | None) -> str:
    if branch is not None:
        return f" on branch {branch}"
    return f" on commit {commit[:10]}" if commit else ""


def _is_directory(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:
        return False


class DirectoryReading(Generic[Found]):
    """Reads something of directories, in a thread; after it has hung once, nothing is read any more."""

    def __init__(self, read: Callable[[str], Found | None]) -> None:
        self._read = read
        self._hangs = False

    async def of(self, directory: str) -> Found | None:
        """The facts found in a directory; None if there are none, or reading takes too long."""
        if self._hangs:
            return None
        try:
            async with asyncio.timeout(_READING_SECONDS):
                return await asyncio.to_thread(self._read, directory)
        except TimeoutError:
            self._hangs = True
            return None


class _SessionServers:
    """The servers of one live conversation."""

    def __init__(
        self, services: Services, conversation_id: str, publish: Callable[[ConversationEvent], None]
    ) -> None:
        self._services = services
        self._conversation_id = conversation_id
        self._publish = publish
        self._kept: tuple[dict[str, object], ...] = ()  # of the conversation itself
        self._told: set[tuple[str, str]] = set()  # a window, and what was said there
        self._reading = DirectoryReading(read_project_file)
        self._cwd = ""  # where the project was looked for last
        self.project: ProjectFile | None = None
        self.allowed: bool | None = None  # the person's answer about that file as it is; None without one

    async def load(self) -> None:
        """Read which servers the conversation was given."""
        with contextlib.suppress(StoreError):
            async with self._services.db.read() as reader:
                self._kept = await conversations.mcp_servers(reader, self._conversation_id)

    async def look(self, cwd: str) -> None:
        """Read the project's file anew, and what the person answered about it."""
        self._cwd = cwd
        self.project = await self._reading.of(cwd)
        self.allowed = None
        if self.project is not None:
            with contextlib.suppress(StoreError):
                async with self._services.db.read() as reader:
                    self.allowed = await permission_rules.file_answer(
                        reader, self.project.path, self.project.digest
                    )

    async def answer(self, project: ProjectFile, *, allowed: bool) -> None:
        """Store the person's answer about a file as they saw it. Raises StoreError."""
        async with self._services.db.write() as tx:
            await permission_rules.keep_file_answer(tx, project.path, project.digest, trusted=allowed)
        if self.project is not None and self.project.digest == project.digest:
            self.allowed = allowed

    def listed(
        self, cwd: str, spec: AgentSpec, abilities: Abilities | None, title: str = ""
    ) -> tuple[ServerChoice, ...]:
        """Every server that this conversation knows, with what becomes of it in a session of this agent."""
        recipient = Recipient(cwd, spec.name, spec.profile, title or spec.title, abilities)
        known = (*self._services.mcp_servers, *(self.project.servers if self.project else ()))
        return choose_servers(
            self._kept, known, recipient, project_allowed=self.allowed, environment=os.environ
        )

    def sent(self, cwd: str, spec: AgentSpec, abilities: Abilities | None) -> tuple[dict[str, object], ...]:
        """The servers that a session is given."""
        return tuple(each.sent for each in self.listed(cwd, spec, abilities) if each.sent is not None)

    def tell(self, live: LiveSession, window_id: str) -> None:
        """Remark, once for each window, which servers a session that was just opened did not get."""
        agent = live.agent
        known = self.listed(self._cwd, agent.spec, agent.abilities, live.state.agent_title)
        words = [
            f"MCP server {each.server.name} is left out: {each.why}." for each in known if each.unexpected
        ]
        if self.project is not None:
            words += [f"{PROJECT_FILE_NAME}: {wrong}." for wrong in self.project.wrong]
            if self.allowed is None and (count := len(self.project.servers)):
                servers, them = ("an MCP server", "it") if count == 1 else (f"{count} MCP servers", "them")
                words.append(
                    f"This project brings {servers} ({PROJECT_FILE_NAME}): /mcp shows and allows {them}."
                )
        new = [each for each in words if (window_id, each) not in self._told]
        if new:
            self._told |= {(window_id, each) for each in new}
            self._publish(Remarked(window_id, " ".join(new)))
