"""Completions of the composer's text, and of the mention before its cursor, from files looked for meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from catena.keys.keymap import KeyMap
from catena.widgets.composer import Composer

if TYPE_CHECKING:  # the first frame completes nothing
    from catena.mentions.index import FileIndex
    from catena.mentions.mentions import Unfinished
    from catena.settings.templates import Template
    from catena.widgets.completion import CompletionList
    from catena_acp.port.session_events import AgentCommand


class Completions:
    """The completions of one composer, closed until they are offered."""

    def __init__(self, keys: KeyMap, *, mount: Callable[[CompletionList], object]) -> None:
        """``mount`` puts the list in its place."""
        self._keys = keys
        self._mount = mount
        self._made: CompletionList | None = None

    @property
    def list(self) -> CompletionList:
        """The list that shows them."""
        if self._made is None:
            from catena.screens.chat.commands.table import listed_commands
            from catena.widgets.completion import CompletionList

            self._made = CompletionList(listed_commands(self._keys), id="completions")
            self._mount(self._made)
        return self._made

    def use(self, keys: KeyMap) -> None:
        """Complete with the keys as they are now."""
        self._keys = keys
        if self._made is not None:
            from catena.screens.chat.commands.table import listed_commands

            self._made.use(listed_commands(keys))

    @property
    def is_open(self) -> bool:
        """True while there is something to take."""
        return self._made is not None and self._made.is_open

    @property
    def is_meant(self) -> bool:
        """True if Enter may run what is chosen, as `CompletionList.is_meant` has it."""
        return self._made is not None and self._made.is_meant

    @property
    def chosen_file(self) -> str | None:
        """The path of the chosen row, where that is a file to be mentioned."""
        return self._made.chosen_file if self._made is not None else None

    def offer(
        self,
        text: str,
        agent_commands: Sequence[AgentCommand],
        directory: str,
        templates: Sequence[Template],
        names: Callable[[str], Sequence[str]],
    ) -> None:
        """Show which commands ``text`` can become, as `CompletionList.offer` has it; ``names`` are those of a kind."""
        if text.startswith("/") or self._made is not None:
            known = names(self.list.names_of(text))
            self.list.offer(text, agent_commands, directory, templates, known)

    def offer_files(self, paths: Sequence[str], typed: str) -> None:
        """Show files that fit what is typed."""
        if paths or self._made is not None:
            self.list.offer_files(paths, typed)

    def move(self, step: int) -> None:
        """Choose another one."""
        if self._made is not None:
            self._made.move(step)

    def move_on(self) -> None:
        """Choose what is longer than what is typed, as `CompletionList.move_on` has it."""
        if self._made is not None:
            self._made.move_on()

    def close(self) -> None:
        """Hide them, until something else is typed."""
        if self._made is not None:
            self._made.close()

    def completed(self) -> tuple[str, bool] | None:
        """The text that the chosen row stands for, and whether it can be sent as it is."""
        return self._made.completed() if self._made is not None else None


_PATIENCE = 0.8  # seconds that a key waits for files that are being looked for; the gate waits a second


class MentionCompletion:
    """The mention that is being written, and the files that are offered for it."""

    def __init__(
        self,
        composer: Composer,
        offered: Completions,
        *,
        roots: Callable[[], tuple[str, ...]],
        look: Callable[[FileIndex], None],
        changed: Callable[[], None],
    ) -> None:
        """``roots`` are the directories of the conversation, and ``look`` looks at those of an index in the background.

        ``changed`` is called when other files are offered than before, and nothing was typed.
        """
        self._composer = composer
        self._offered = offered
        self._roots = roots
        self._look = look
        self._changed = changed
        self._index: FileIndex | None = None
        self._mention: Unfinished | None = None
        self._given_up = False  # looking for its files takes long

    @property
    def active(self) -> bool:
        """True while a mention is being written."""
        return self._mention is not None

    @property
    def looking(self) -> bool:
        """True while a mention is being written, its files are looked for, and a key waits for them."""
        return self._awaited and not self._given_up

    @property
    def late(self) -> bool:
        """True while they are still looked for, although no key waits for them any more."""
        return self._awaited and self._given_up

    @property
    def _awaited(self) -> bool:
        return self._mention is not None and self._index is not None and self._index.looking

    def offer(self) -> None:
        """Offer files for the mention before the cursor, if there is one; look at the directories where it begins."""
        was, self._mention = self._mention, self._written()
        if self._mention is None:
            return
        from catena.mentions.index import FileIndex

        index, roots = self._index, self._roots()
        if index is None or index.roots != roots:
            self.forget()
            index, was = FileIndex(roots), None
            index.published = self._published
            self._index = index
        if was is None:
            self._given_up = False
            index.due()
            self._look(index)
        self._show()

    def end(self) -> None:
        """Complete nothing, until something else is typed."""
        self._mention = None

    def cursor_moved(self) -> None:
        """Hide the files when the cursor leaves their mention."""
        if self._mention is None or (now := self._written()) == self._mention:
            return
        self._mention = now
        if now is None and self._offered.chosen_file is not None:
            self._offered.close()
        self._changed()

    async def found(self) -> bool:
        """Wait until the files are found, and offer them; False if that takes long, and then no key waits any more."""
        if self.looking and self._index is not None:
            await self._index.scanned(_PATIENCE)
            self._given_up = self.looking
            self._show()
            return not self._given_up
        return True

    def take(self, path: str) -> bool:
        """Put a path in the place of what is typed of it, a directory to be gone into; False if that is gone."""
        mention = self._written()
        self._offered.close()
        self._mention = None  # until the change is told of, which a directory goes on with
        if mention is None:
            self._changed()
            return False
        from catena.mentions.mentions import written

        row = self._composer.cursor_location[0]
        line, text, end = self._composer.document.get_line(row), written(path), mention.end
        end += mention.quoted and line.startswith('"', end)
        end += text.endswith(" ") and line[end : end + 1].isspace()
        self._composer.before_typing()
        self._composer.replace(text, (row, mention.start), (row, end), maintain_selection_offset=False)
        self._changed()
        return True

    def forget(self) -> None:
        """Forget the files, and end what looks for them."""
        if self._index is not None:
            self._index.published = lambda: None
            self._index.stop()
            self._index = None

    def _written(self) -> Unfinished | None:
        row, column = self._composer.cursor_location
        line = self._composer.document.get_line(row)
        if "@" not in line:
            return None
        from catena.mentions.mentions import unfinished

        return unfinished(line, column)

    def _published(self) -> None:
        """Offer what is found by now."""
        if self._mention is not None and self._composer.is_attached:
            self._show()
            self._changed()

    def _show(self) -> None:
        mention, index = self._mention, self._index
        if mention is None or index is None:
            return
        whole = mention.without_lines in index and not mention.typed.endswith("/")
        paths = [] if whole else index.best(mention.typed)  # of a whole path nothing is missing
        self._offered.offer_files(paths, mention.typed)
