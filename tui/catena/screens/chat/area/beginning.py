"""The beginning of a chat in a directory without tabs: whom the composer writes to, and how an agent is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from catena.screens.chat.bars.composer_edges import Status
from catena.screens.chat.conversation_area import ConversationArea
from catena.screens.chat.prompt.prompt_area import PromptArea
from catena.terminal.times import APART, KeyPace
from catena.workspace.directories import git_branch

if TYPE_CHECKING:
    from catena.settings.settings import Start


class Beginning:
    """The composer's words, and the act of its `y`, while the start is shown."""

    def __init__(self, conversation: ConversationArea, prompt: PromptArea, pace: KeyPace) -> None:
        self._conversation = conversation
        self._prompt = prompt
        self._pace = pace
        self._copied_at = float("-inf")  # when `y` copied how to install an agent

    def show(self, start: Start) -> None:
        """Show the start before the store is open, with the agents that are found."""
        from catena.settings.agent_choices import agent_choices

        self._conversation.show_start()
        self._conversation.start.show_agents(agent_choices(start.settings, start.note.last_used), whole=False)

    def show_addressed(self, directory: str) -> None:
        """Show whom a text would go to from the start, if that is shown."""
        start = self._conversation.start
        if start.display:
            title = start.addressed
            self._prompt.hints.address(f"Ask {title}" if title else "Message")
            self._prompt.edges.show_status(Status(title or "catena", directory=git_branch(directory)))

    def copies_installation(self, key: events.Key) -> bool:
        """Copy how to install the selected agent on `y`, where that begins no word."""
        start, composer = self._conversation.start, self._prompt.composer
        if key.time - self._copied_at < APART and not composer.text:
            composer.put("y")  # it began a word after all
        copies = key.character == "y" and not composer.text and self._pace.alone
        if not (copies and start.display and start.installation):
            return False
        composer.app.copy_to_clipboard(start.installation)
        self._copied_at = key.time
        return True
