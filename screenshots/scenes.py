"""What the pictures show. Each scene plays in an application of its own and gives the screen it ends with."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path

from screenshots.stage import Stage, stage

Scene = Callable[[Path], Coroutine[None, None, str]]


async def first_start(folder: Path) -> str:
    """Catena in a project for the first time: which agents are here."""
    async with stage(folder, agent=False) as app:
        await app.shows("Claude Code", "ready")
        return app.picture()


async def chat(folder: Path) -> str:
    """A conversation with a thought, tools, Markdown and code."""
    async with stage(folder) as app:
        await app.say("The login form loses the `next` parameter. Find out why, and mend it.")
        await app.shows("front page")
        return app.picture()


async def permission(folder: Path) -> str:
    """The agent asks before it changes a file."""
    async with stage(folder) as app:
        await app.say("Go on, mend it.")
        await app.shows("Allow once", "esc decide later")
        return app.picture()


async def seam(folder: Path) -> str:
    """The agent was killed in the middle of an answer; the next prompt brings the conversation to a new one."""
    async with stage(folder) as app:
        await app.say("What does the view do with the parameter?")
        await app.shows("never sees it")
        await app.say("Now add a test.")
        await app.shows("interrupted")
        await app.say("Go on where you stopped: what does the test do?")
        await app.shows("missed messages replayed", "fails")
        return app.picture()


async def edit(folder: Path) -> str:
    """An earlier prompt is in the composer, to be said in other words."""
    async with stage(folder) as app:
        await _two_prompts(app)
        await app.choose_prompt()
        await app.press("up", "enter")
        await app.shows("editing prompt from")
        return app.picture()


async def siblings(folder: Path) -> str:
    """A prompt that was said in two versions, each with what came after it."""
    async with stage(folder) as app:
        await _two_versions(app)
        return app.picture()


async def tree(folder: Path) -> str:
    """Every branch of a conversation."""
    async with stage(folder) as app:
        await _two_versions(app)
        await app.say("/tree")
        await app.shows("Tree: 3 prompts")
        return app.picture()


async def aside(folder: Path) -> str:
    """A question beside the conversation, which leaves nothing in it."""
    async with stage(folder) as app:
        await app.say("What does the view do with the parameter?")
        await app.shows("never sees it")
        await app.say("/btw Which views have that mistake?")
        await app.shows("as they should")
        return app.picture()


async def _two_prompts(app: Stage) -> None:
    await app.say("What does the view do with the parameter?")
    await app.shows("never sees it")
    await app.say("Write a test for that.")
    await app.shows("without the change")


async def _two_versions(app: Stage) -> None:
    await _two_prompts(app)
    await app.choose_prompt()
    await app.press("enter")
    await app.shows("editing prompt from")
    await app.press("end", *["backspace"] * len("Write a test for that."))
    await app.say("Which views have that mistake?")
    await app.shows("as they should", "2/2")


SCENES: dict[str, Scene] = {
    "first-start": first_start,
    "chat": chat,
    "permission": permission,
    "seam": seam,
    "edit": edit,
    "siblings": siblings,
    "tree": tree,
    "aside": aside,
}
