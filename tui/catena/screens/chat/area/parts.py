"""The widgets of an area that its presenter draws into."""

from __future__ import annotations

from catena.screens.chat.area.panel_stack import PanelStack
from catena.screens.chat.conversation_area import ConversationArea
from catena.screens.chat.panels.lineage import LineageLine
from catena.screens.chat.presenter import Parts
from catena.screens.chat.prompt.prompt_area import PromptArea
from catena.transcript import Transcript


def drawn_parts(
    conversation: ConversationArea,
    transcript: Transcript,
    panels: PanelStack,
    prompt: PromptArea,
    lineage: LineageLine,
) -> Parts:
    """Return what a presenter draws into."""
    return Parts(
        lineage=lineage,
        conversation=conversation,
        transcript=transcript,
        find=prompt.find,
        plan=panels.plan,
        queue=panels.queue,
        attached=prompt.attached,
        permission=panels.permission,
        elicitation=panels.elicitation,
        trouble=panels.trouble,
        fork=panels.fork,
        edges=prompt.edges,
        composer=prompt.composer,
        hints=prompt.hints,
        shell=prompt.shell,
    )
