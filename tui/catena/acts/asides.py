"""Side questions, none of which is kept in the conversation."""

from __future__ import annotations

from catena.acts.agents import kept_agent
from catena.acts.surface import AnswerTo, Done, Here, Refused, SideQuestion
from catena.text.safe_text import safe
from catena.workspace.tab import Tab


async def btw(on: Here, question: str) -> Done:
    """Ask a question, and more of them as long as the user likes."""
    return await ask(on, SideQuestion(question, f"/btw {question}", "aside"))


async def ask(on: Here, question: SideQuestion) -> Done:
    """Ask what is asked beside the conversation, and take the answer where the user wants it."""
    tab = on.tab
    answer, to = await on.surface.ask_aside(tab, tab.conversation.asides.begin(tab.window), question)
    if to is AnswerTo.DRAFT:
        await on.surface.write(safe(answer))
    elif to is AnswerTo.NEW_CONVERSATION:
        spec = kept_agent(tab, on.settings)
        if spec is None:
            raise Refused("This conversation's agent is no longer installed.")

        async def step() -> Tab:
            opened = await on.tabs.open_new(spec, cwd=tab.conversation.record.cwd)
            opened.write(f"{safe(answer)}\n\n")
            return opened

        await on.surface.go(step(), lambda opened: opened)
        return Done("Add your request and send it; nothing has been sent yet.")
    return Done()
