"""Questions that agents wait for an answer to: permission requests and elicitations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from catena_acp.continuity.conversation_events import (
    ConversationEvent,
    ElicitationClosed,
    ElicitationOpened,
    PermissionClosed,
    PermissionOpened,
    Question,
)
from catena_acp.permissions.deeds import changed_labels
from catena_acp.permissions.subject import RequestSubject, subject_of, unresolved_subject
from catena_acp.port.elicitation.requests import CANCEL, ElicitationAnswer, WebPage
from catena_acp.port.session_events import (
    ElicitationRequested,
    PermissionRequested,
    ToolCallChanged,
)


class AnswersPermissions(Protocol):
    """The party that waits for a permission: an agent, or Catena on its behalf."""

    def answer_permission(self, ask_id: str, option_id: str | None) -> None: ...


class AnswersElicitations(Protocol):
    """The agent that waits for what it asked the person."""

    def answer_elicitation(self, ask_id: str, answer: ElicitationAnswer) -> None: ...


@dataclass(frozen=True, slots=True)
class _Permission:
    link_id: str
    agent: AnswersPermissions
    event: PermissionOpened


@dataclass(frozen=True, slots=True)
class _Elicitation:
    link_id: str
    agent: AnswersElicitations
    event: ElicitationOpened


class PendingQuestions:
    """The open questions in the order in which they came, until each is answered, withdrawn or cancelled with its turn.

    A web page that was opened stays until the agent says that it is done, the person dismisses it, or the turn ends.
    """

    def __init__(self, publish: Callable[[ConversationEvent], None]) -> None:
        self._publish = publish
        self._open: dict[str, _Permission | _Elicitation] = {}

    def add(
        self,
        window_id: str,
        link_id: str,
        agent: AnswersPermissions,
        asked: PermissionRequested,
        subject: RequestSubject,
        subagent: str = "",
    ) -> None:
        """Add and publish a permission request about a subject.

        ``subagent`` is the task of the subagent that asks; "" if none does.
        """
        event = PermissionOpened(window_id, asked.ask_id, subject, asked.options, subagent)
        self._open[asked.ask_id] = _Permission(link_id, agent, event)
        self._publish(event)

    def follow(self, link_id: str, update: ToolCallChanged, directory: str) -> list[PermissionOpened]:
        """Ask anew for what an update made of a call that a permission is asked for; returns what is asked anew."""
        anew: list[PermissionOpened] = []
        for ask_id, ask in list(self._open.items()):
            if not isinstance(ask, _Permission) or ask.link_id != link_id:
                continue
            before = ask.event.subject
            if before.call.tool_call_id != update.tool_call_id:
                continue
            now = completed_call(update, before.call)
            if not (labels := changed_labels(before, unresolved_subject(now))):
                continue
            changed = tuple(dict.fromkeys((*ask.event.changed, *labels)))
            event = replace(ask.event, subject=subject_of(now, directory), changed=changed)
            self._open[ask_id] = replace(ask, event=event)
            self._publish(event)
            anew.append(event)
        return anew

    def add_elicitation(
        self,
        window_id: str,
        link_id: str,
        agent: AnswersElicitations,
        asked: ElicitationRequested,
        agent_title: str,
    ) -> None:
        """Add and publish an elicitation of the agent of this title."""
        event = ElicitationOpened(window_id, asked.ask_id, agent_title, asked.request)
        self._open[asked.ask_id] = _Elicitation(link_id, agent, event)
        self._publish(event)

    def of_window(self, window_id: str) -> list[Question]:
        """The open questions of a window, oldest first."""
        return [ask.event for ask in self._open.values() if ask.event.window_id == window_id]

    def waits(self, window_id: str) -> bool:
        """True while an agent waits for an answer in a window."""
        return any(not _is_opened(event) for event in self.of_window(window_id))

    @property
    def waiting_links(self) -> frozenset[str]:
        """The links whose sessions wait for an answer."""
        return frozenset(ask.link_id for ask in self._open.values() if not _is_opened(ask.event))

    def permission(self, ask_id: str) -> tuple[str, PermissionOpened] | None:
        """The link of an open permission request, and the request."""
        ask = self._open.get(ask_id)
        return (ask.link_id, ask.event) if isinstance(ask, _Permission) else None

    def permissions(self) -> list[tuple[str, AnswersPermissions, PermissionOpened]]:
        """The open permission requests, oldest first, each with its link and who waits for the answer."""
        asks = [ask for ask in self._open.values() if isinstance(ask, _Permission)]
        return [(ask.link_id, ask.agent, ask.event) for ask in asks]

    def take(self, asked: PermissionOpened) -> bool:
        """Close a permission request, which the caller answers; False if it is not open as it was asked."""
        ask = self._open.get(asked.ask_id)
        if not isinstance(ask, _Permission) or ask.event is not asked:
            return False
        del self._open[asked.ask_id]
        self._publish(PermissionClosed(ask.event.window_id, asked.ask_id))
        return True

    def answer(self, ask_id: str, option_id: str | None) -> str | None:
        """Answer a permission request; returns its window, or None if it is no longer open."""
        ask = self._open.get(ask_id)
        if not isinstance(ask, _Permission):
            return None
        del self._open[ask_id]
        ask.agent.answer_permission(ask_id, option_id)
        self._publish(PermissionClosed(ask.event.window_id, ask_id))
        return ask.event.window_id

    def answer_elicitation(self, ask_id: str, answer: ElicitationAnswer) -> str | None:
        """Answer an elicitation, or dismiss an opened web page; returns its window, or None if it is no longer open."""
        ask = self._open.get(ask_id)
        if not isinstance(ask, _Elicitation):
            return None
        event, accepted = ask.event, answer.action == "accept"
        if accepted and isinstance(event.request, WebPage):
            if not event.opened:
                event = replace(event, opened=True)
                self._open[ask_id] = replace(ask, event=event)
                ask.agent.answer_elicitation(ask_id, answer)
                self._publish(event)
            return event.window_id
        del self._open[ask_id]
        if not event.opened:
            ask.agent.answer_elicitation(ask_id, answer)
        self._publish(ElicitationClosed(event.window_id, ask_id, accepted or event.opened))
        return event.window_id

    def withdrawn(self, ask_id: str) -> str | None:
        """Drop a question that the agent withdrew, or that is done; returns its window."""
        ask = self._open.pop(ask_id, None)
        if ask is None:
            return None
        match ask.event:
            case PermissionOpened(window_id=window_id):
                self._publish(PermissionClosed(window_id, ask_id))
            case ElicitationOpened(window_id=window_id, opened=opened):
                self._publish(ElicitationClosed(window_id, ask_id, opened))
        return ask.event.window_id

    def cancel(self, link_id: str) -> None:
        """Answer every open question of a link's session with `cancelled`."""
        for ask_id, ask in [item for item in self._open.items() if item[1].link_id == link_id]:
            match ask:
                case _Permission():
                    self.answer(ask_id, None)
                case _Elicitation():
                    self.answer_elicitation(ask_id, CANCEL)


def _is_opened(event: Question) -> bool:
    return isinstance(event, ElicitationOpened) and event.opened


def completed_call(call: ToolCallChanged, known: ToolCallChanged | None) -> ToolCallChanged:
    """The call of a request, completed from ``known`` if the request names only its id."""
    if known is None:
        return call
    return ToolCallChanged(
        tool_call_id=call.tool_call_id,
        title=call.title or known.title,
        kind=call.kind or known.kind,
        status=call.status or known.status,
        name=call.name or known.name,
        locations=call.locations or known.locations,
        content=call.content or known.content,
        raw_input=call.raw_input if call.raw_input is not None else known.raw_input,
        raw_output=call.raw_output if call.raw_output is not None else known.raw_output,
        subagent_of=call.subagent_of or known.subagent_of,
        background=call.background or known.background,
        doubt=call.doubt or known.doubt,
        by_client=call.by_client or known.by_client,
    )
