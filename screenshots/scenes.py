"""What the pictures show. Each scene plays in an application of its own, up to the screen that is pictured."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from screenshots.stage import Stage

Play = Callable[[Stage], Coroutine[None, None, None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """A play, which begins with a first tab unless there is no ``agent`` yet."""

    play: Play
    agent: bool = True


async def first_start(app: Stage) -> None:
    """Catena in a project for the first time: which agents are here."""
    await app.shows("Start with", "Claude Code", "built-in demo")


async def chat(app: Stage) -> None:
    """A conversation with a thought, tools, Markdown and code."""
    await app.say("The login form loses the `next` parameter. Find out why, and mend it.")
    await app.shows("front page")


async def permission(app: Stage) -> None:
    """The agent asks before it changes a file."""
    await app.say("Go on, mend it.")
    await app.shows("Allow once", "esc decide later")


async def seam(app: Stage) -> None:
    """The agent was killed in the middle of an answer; the next prompt brings the conversation to a new one."""
    await app.say("What does the view do with the parameter?")
    await app.shows("never sees it")
    await app.say("Now add a test.")
    await app.shows("interrupted")
    await app.say("Go on where you stopped: what does the test do?")
    await app.shows("missed messages replayed", "fails")


async def edit(app: Stage) -> None:
    """An earlier prompt is in the composer, to be said in other words."""
    await _two_prompts(app)
    await app.choose_prompt()
    await app.press("up", "enter")
    await app.shows("esc cancel")


async def siblings(app: Stage) -> None:
    """A prompt that was said in two versions, each with what came after it."""
    await _two_versions(app)


async def tree(app: Stage) -> None:
    """Every branch of a conversation."""
    await _two_versions(app)
    await app.say("/tree")
    await app.shows("3 prompts, 2 branches")


async def aside(app: Stage) -> None:
    """A question beside the conversation, which leaves nothing in it."""
    await app.say("What does the view do with the parameter?")
    await app.shows("never sees it")
    await app.say("/btw Which views have that mistake?")
    await app.shows("bind their forms")


async def _two_prompts(app: Stage) -> None:
    await app.say("What does the view do with the parameter?")
    await app.shows("never sees it")
    await app.say("Write a test for that.")
    await app.shows("without the change")


async def _two_versions(app: Stage) -> None:
    await _two_prompts(app)
    await app.choose_prompt()
    await app.press("enter")
    await app.shows("esc cancel")
    await app.press("end", *["backspace"] * len("Write a test for that."))
    await app.say("Which views have that mistake?")
    await app.shows("bind their forms", "2/2")


async def browse(app: Stage) -> None:
    """An answer in the hands of the keys."""
    await _two_prompts(app)
    await app.press("shift+tab", "k")
    await app.shows("BROWSE")


async def trouble(app: Stage) -> None:
    """The agent was killed, and nothing is lost."""
    await app.say("What does the view do with the parameter?")
    await app.shows("never sees it")
    await app.say("Now add a test.")
    await app.shows("killed")


async def palette(app: Stage) -> None:
    """Every command, in groups."""
    await _two_prompts(app)
    await app.press("ctrl+p")
    await app.shows("Conversation", "Branches")


async def history(app: Stage) -> None:
    """The conversations that there are."""
    await _two_prompts(app)
    await app.press("ctrl+o")
    await app.shows("History")


async def help_page(app: Stage) -> None:
    """The keys of the composer."""
    await _two_prompts(app)
    await app.press("f1")
    await app.shows("ctrl+j")


async def empty(app: Stage) -> None:
    """A conversation that has not begun."""
    await app.shows("catena", "ready")


SCENES: dict[str, Scene] = {
    "first-start": Scene(first_start, agent=False),
    "empty": Scene(empty),
    "chat": Scene(chat),
    "permission": Scene(permission),
    "trouble": Scene(trouble),
    "seam": Scene(seam),
    "browse": Scene(browse),
    "edit": Scene(edit),
    "siblings": Scene(siblings),
    "tree": Scene(tree),
    "palette": Scene(palette),
    "history": Scene(history),
    "help": Scene(help_page),
    "aside": Scene(aside),
}
