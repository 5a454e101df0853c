"""The content of exports in forms for people: a head, and passages of messages."""

from __future__ import annotations

from bisect import bisect
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from catena.text.names import conversation_name
from catena.text.secrets import SecretMask
from catena_acp.spoken.spoken import seams_above
from catena_store.conversations import conversations
from catena_store.database.database import Reader
from catena_store.exchange import outline
from catena_store.exchange.exporting import ExportSelection
from catena_store.exchange.outline import Passage
from catena_store.records import Message

_MESSAGES = 100  # that are read at a time, or those of one passage

Titles = Callable[[str, str | None], str | None]  # of an agent, by its stored name and profile


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above an export."""

    title: str
    agent: str
    directory: str
    conversation_id: str
    began: datetime
    ended: datetime
    exported_at: datetime
    prompts: int
    branches: int  # 1 without branches
    masked: bool
    here: int  # the passage that the newest branch ends with

    def facts(self, agent: str, directory: str) -> str:
        """The line below the title: the agent and the directory as they are drawn, when it was, and how much it is."""
        began, ended = (f"{time.astimezone():%Y-%m-%d %H:%M}" for time in (self.began, self.ended))
        when = began if began == ended else f"{began} – {ended}"
        prompts = f"{self.prompts} prompt{'' if self.prompts == 1 else 's'}"
        branches = f"{self.branches} branches" if self.branches > 1 else ""
        return " · ".join(filter(None, (agent, directory, when, prompts, branches)))

    @property
    def origin(self) -> str:
        """The line below all of it."""
        masked = " Secrets are masked." if self.masked else ""
        return f"Exported by Catena on {self.exported_at.astimezone():%Y-%m-%d %H:%M}.{masked}"


@dataclass(frozen=True, slots=True)
class ExportPart:
    """A passage with its messages, the seam of a prompt above it; ``fork`` names the conversation that it begins."""

    passage: Passage
    messages: Sequence[Message]
    fork: str | None = None

    @property
    def version(self) -> int:
        """The number of this version, from 1."""
        return bisect(self.passage.versions, self.passage.place)


class Contents:
    """The contents of one export, read passage by passage in one snapshot."""

    def __init__(
        self,
        reader: Reader,
        selected: ExportSelection,
        *,
        titles: Titles,
        exported_at: datetime,
        mask: SecretMask | None,
    ) -> None:
        self._reader = reader
        self._selected = selected
        self._titles = titles
        self._exported_at = exported_at
        self._mask = mask
        self._outline: list[Passage] = []

    async def head(self) -> Head:
        """Read the head, and the outline of what follows."""
        self._outline = await outline.read_outline(self._reader, self._selected)
        conversation = await conversations.get(self._reader, self._selected.conversation_id)
        assert conversation is not None
        began = await self._first(self._outline[0])
        asking = next((passage for passage in self._outline if passage.prompts), None)
        # Masked before it is cut: the beginning of a secret does not look like one.
        asked = (await self._first(asking)).text if asking and not conversation.title else ""
        first = self._masked(asked, "the title")
        title = conversation_name(self._masked(conversation.title or "", "the title"), first, "Conversation")
        ends = {passage.above for passage in self._outline}
        named = self._titles(conversation.agent, conversation.profile) or conversation.agent
        here = next(
            (
                passage.place
                for passage in reversed(self._outline)
                if self._selected.leaf_row in passage.messages
            ),
            len(self._outline) - 1,
        )
        return Head(
            title=title,
            agent=named.removeprefix("command:"),
            directory=self._masked(conversation.cwd, "the directory"),
            conversation_id=conversation.id,
            began=began.created_at,
            ended=conversation.updated_at,
            exported_at=self._exported_at,
            prompts=sum(passage.prompts for passage in self._outline),
            branches=sum(passage.place not in ends for passage in self._outline),
            masked=self._mask is not None,
            here=here,
        )

    async def parts(self) -> AsyncIterator[ExportPart]:
        """Yield the passages in reading order."""
        before: dict[int, str] = {}
        for passages in _pages(self._outline):
            read = await outline.read_messages(self._reader, passages)
            for passage, found in zip(passages, read, strict=True):
                messages = [masked_message(each, self._mask) for each in found]
                above = before.get(-1 if passage.above is None else passage.above)
                before[passage.place] = passage.conversation_id
                fork: str | None = None
                if above is not None and above != passage.conversation_id:
                    record = await conversations.get(self._reader, passage.conversation_id)
                    fork = self._masked((record and record.title) or "a fork", "the title of a fork")
                yield ExportPart(passage, list(seams_above(messages)), fork)

    async def _first(self, passage: Passage) -> Message:
        beginning = replace(passage, messages=passage.messages[:1])
        return (await outline.read_messages(self._reader, [beginning]))[0][0]

    def _masked(self, text: str, where: str) -> str:
        if self._mask is None:
            return text
        self._mask.begin(where)
        return self._mask.rewrite(text)


def _pages(passages: Sequence[Passage]) -> Iterator[list[Passage]]:
    """Yield the passages that are read together: short ones, so that no query is made for each of them."""
    page: list[Passage] = []
    count = 0
    for passage in passages:
        if page and count + len(passage.messages) > _MESSAGES:
            yield page
            page, count = [], 0
        page.append(passage)
        count += len(passage.messages)
    if page:
        yield page


def masked_message(message: Message, mask: SecretMask | None) -> Message:
    """The message with masks in its text and its data, unless nothing is to be masked."""
    if mask is None:
        return message
    mask.begin(f"message {message.id}")
    return replace(message, text=mask.rewrite(message.text), data=mask.rewrite_all(dict(message.data)))
