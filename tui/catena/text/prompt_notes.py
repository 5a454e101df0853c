"""What is said beside a prompt: where its text came from, and what became of it."""

from __future__ import annotations

from catena_store.records import Message, MessageState, PromptOrigin

IMPORTED = "imported"


def prompt_notes(message: Message) -> list[str]:
    """The notes of a prompt in words, where it came from first; none for one that was typed here and sent."""
    notes: list[str] = []
    match message.data.get("origin"):
        case PromptOrigin.AGENT:
            notes.append("sent by the agent, not typed here")
        case PromptOrigin.IMPORT:
            notes.append(IMPORTED)
    if message.data.get("steered"):
        doubt = "; not confirmed by the agent" if message.data.get("doubtful") else ""
        notes.append(f"sent to the running turn{doubt}")
    if message.state is MessageState.REFUSED:
        notes.append("not sent")
    return notes
