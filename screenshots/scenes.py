"""What the pictures show. Each scene plays in an application of its own, up to the screen that is pictured."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

from screenshots import actor
from screenshots.stage import SIZES, Stage

_ONE_SIZE = ((120, 40),)

Play = Callable[[Stage], Coroutine[None, None, None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """A play, which begins with a first tab unless there is no ``agent`` yet.

    ``kept``: in a store with conversations from before. ``git``: in a work tree, whose files are kept around turns.
    """

    play: Play
    agent: bool = True
    kept: bool = False
    git: bool = False
    sizes: Sequence[tuple[int, int]] = SIZES


async def first_start(app: Stage) -> None:
    """Catena in a project for the first time: which agents are here."""
    await app.shows("Start with", "Claude Code", "built-in demo", "30 more agents")


async def chat(app: Stage) -> None:
    """A conversation with a thought, tools, Markdown and code."""
    await app.say("The login form loses the `next` parameter. Find out why, and fix it.")
    await app.shows("front page")


async def permission(app: Stage) -> None:
    """The agent asks before it changes a file."""
    await app.say("Go on, fix it.")
    await app.shows("Allow once", "esc decide later")


async def question_command(app: Stage) -> None:
    """A question about a command of three lines."""
    await app.say("Measure how long the login takes.")
    await app.shows("Allow once", "git status", "esc decide later")


async def question_outside(app: Stage) -> None:
    """A question about a change, with a place outside of the project beside it."""
    await app.say("Copy the form's settings, too.")
    await app.shows("Allow once", "copy_to", "esc decide later")


async def question_doubt(app: Stage) -> None:
    """A question that no rule can be certain of."""
    await app.say("Tidy up behind you.")
    await app.shows("Allow once", "$CACHE", "esc decide later")


async def question_changed(app: Stage) -> None:
    """A question whose call the agent changed while it was open."""
    await app.say("Publish it.")
    await app.shows("Allow once", "Changed while it was open", "esc decide later")


async def terminal(app: Stage) -> None:
    """A command that ran in a terminal for the agent, as it left the screen."""
    await app.say("Run the tests of the login form.")
    await app.shows("exit 1", "13 passed", "bound")


async def form(app: Stage) -> None:
    """The agent asks the person what it needs to know."""
    await app.say("Ask me what you need to know, then write the test.")
    await app.shows("Framework", "esc decide later")
    await app.press("tab", "2", "tab")


async def seam(app: Stage) -> None:
    """The agent was killed in the middle of an answer; the next prompt brings the conversation to a new one."""
    await app.say("What does the view do with the parameter?")
    await app.shows("never sees it")
    await app.say("Now add a test.")
    await app.shows("killed by signal 9")
    await app.say("Go on where you stopped: what does the test do?")
    await app.shows("replayed that it may have lost", "fails")


async def edit(app: Stage) -> None:
    """An earlier prompt is in the composer, to be said in other words."""
    await _two_prompts(app)
    await app.choose_prompt()
    await app.press("up", "enter")
    await app.shows("esc cancel")


async def files(app: Stage) -> None:
    """An edit whose price names the files that F4 restores with it."""
    app.has_text(actor.VIEW, actor.BEFORE)
    app.has_text(actor.FORM, actor.FORM_BEFORE)
    await app.say("What does the view do with the parameter?")
    await app.shows("never sees it")
    await app.say("Fix it, in the form too, and write a test.")
    await app.shows("without the change")
    await app.files_kept()
    await app.choose_prompt()
    await app.press("enter")
    await app.shows("restores 3 files")


async def siblings(app: Stage) -> None:
    """A prompt that was said in two versions, each with what came after it."""
    await _two_versions(app)


async def tree(app: Stage) -> None:
    """Every branch of a conversation."""
    await _two_versions(app)
    await app.say("/tree")
    await app.shows("3 prompts, 2 branches", "Your next prompt here: same context")


async def changes(app: Stage) -> None:
    """What the agent changed in three files, hunk by hunk."""
    app.has_text(actor.VIEW, actor.BEFORE)
    app.has_text(actor.FORM, actor.FORM_BEFORE)
    await app.say("Fix it, in the form too, and write a test.")
    await app.shows("without the change")
    await app.files_kept()
    await app.say("/changes")
    await app.shows("3 files", "3 not seen")
    await app.press("enter", "space")
    await app.shows("2 not seen", "form.cleaned_data")


async def blame(app: Stage) -> None:
    """Who wrote a form: three prompts, somebody between two of them, and whoever began it."""
    app.has_text(actor.FORM, actor.FORM_BEFORE)
    app.clock.set_back(days=3)
    await app.say(actor.KEEP)
    await app.shows("kept in the form")
    await app.files_kept()
    app.clock.set_back(hours=5)
    await app.say(actor.GUARD)
    await app.shows("own site only")
    await app.files_kept()
    app.has_text(actor.FORM, actor.FORM_NOTED)
    app.clock.set_back(minutes=12)
    await app.say(actor.GREET)
    await app.shows("greeted by name")
    await app.files_kept()
    app.clock.set_back()
    await app.say(f"/blame {actor.FORM}")
    await app.shows("3 turns", "between turns")
    await app.press("n", "n", "n", "n")
    await app.shows("turn 2 of")


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


async def conversation(app: Stage) -> None:
    """A conversation that fills the screen: a prompt in two versions, and the changes that it led to."""
    await _two_prompts(app)
    await app.choose_prompt()
    await app.press("enter")
    await app.shows("esc cancel")
    await app.press("end", *["backspace"] * len("Write a test for that."))
    await app.say("Fix that in all views.")
    await app.shows("assert answer.redirect", "2/2")


async def panes(app: Stage) -> None:
    """A conversation and its fork side by side: in one the agent asks, the other one has the keys."""
    await app.say("What does the view do with the parameter?")
    await app.shows("never sees it")
    await app.say("/fork side")
    await app.shows("f6 other pane")
    await app.say("Which views have that mistake?")
    await app.shows("bind their forms")
    await app.press("f6")
    await app.say("Go on, fix it.")
    await app.shows("Allow once", "esc decide later")
    await app.press("f6")
    await app.shows("Allow once", "f6 other pane")


async def asked(app: Stage) -> None:
    """Two agents were asked the same; what they said and changed, compared."""
    await app.say("What does the view do with the parameter?")
    await app.shows("never sees it")
    await app.say("/ask opencode Fix that in all views.")
    await app.shows("this prompt at once?")
    await app.press("enter")
    await app.all_answered(2)
    await app.say("/compare")
    await app.shows("A  Demonstration", "B  OpenCode", "keep B")


async def browse(app: Stage) -> None:
    """An answer in the hands of the keys."""
    await _two_prompts(app)
    await app.press("f2", "k")
    await app.shows("BROWSE")


async def plan(app: Stage) -> None:
    """A plan of which some steps are done, with the calls that did them."""
    await app.say("Plan the move to hashed passwords, and begin with what is safe.")
    await app.shows("hashed from now on", "account.hash")


async def models(app: Stage) -> None:
    """The models of the agent, to choose from."""
    await plan(app)
    await app.say("/model")
    await app.shows("Swift", "thinks first")


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
    await app.press("ctrl+o")
    await app.shows("History", "fix the login")


async def history_search(app: Stage) -> None:
    """A word that was found in messages, also on another branch, and the preview of the first hit."""
    await app.press("ctrl+o", *"next")
    await app.shows("in messages", "‹ 3/3 ›", "get through", "Ended")


async def history_hit(app: Stage) -> None:
    """A hit that was opened on its branch, with what was found marked."""
    await app.press("ctrl+o", *"query string is empty", "enter")
    await app.shows("fell back to", "‹ 2/3 ›")


async def help_page(app: Stage) -> None:
    """The keys of the composer."""
    await _two_prompts(app)
    await app.press("f1")
    await app.shows("ctrl+j")


async def settings(app: Stage) -> None:
    """Every setting, with one of the file's and the words on the chosen one."""
    await _two_prompts(app)
    await app.write("/settings")
    await app.press("enter")
    await app.shows("files_follow", "default")
    await app.press("down", "down")
    await app.shows("applies at once")


async def mention(app: Stage) -> None:
    """A file that is about to be mentioned."""
    app.has_files(
        *(
            "auth/views.py",
            "auth/urls.py",
            "auth/forms/login.py",
            "auth/templates/login.html",
            "shop/models.py",
        ),
        *("tests/auth/test_login.py", "tests/auth/test_logout.py", "docs/logging in.md", "pyproject.toml"),
    )
    await _two_prompts(app)
    await app.write("Compare it with @log")
    await app.shows("login.html", "enter take")


async def subagents(app: Stage) -> None:
    """Two subagents, of which one is opened, and a command that goes on in the background."""
    await app.say("Have somebody look at logout and register, and keep the tests running.")
    await app.shows("1 in background")
    await app.press("f2", "k", "k", "k", "enter")
    await app.shows("redirect_target")


async def empty(app: Stage) -> None:
    """A conversation that has not begun."""
    await app.shows("catena", "ready")


SCENES: dict[str, Scene] = {
    "first-start": Scene(first_start, agent=False),
    "empty": Scene(empty),
    "chat": Scene(chat),
    "permission": Scene(permission),
    "question-command": Scene(question_command, sizes=_ONE_SIZE),
    "question-outside": Scene(question_outside, sizes=_ONE_SIZE),
    "question-doubt": Scene(question_doubt, sizes=_ONE_SIZE),
    "question-changed": Scene(question_changed, sizes=_ONE_SIZE),
    "terminal": Scene(terminal),
    "form": Scene(form),
    "trouble": Scene(trouble),
    "plan": Scene(plan),
    "models": Scene(models),
    "seam": Scene(seam),
    "browse": Scene(browse),
    "edit": Scene(edit),
    "files": Scene(files, git=True),
    "siblings": Scene(siblings),
    "conversation": Scene(conversation, sizes=_ONE_SIZE),
    "panes": Scene(panes, sizes=((180, 45),)),
    "asked": Scene(asked, sizes=((180, 45),)),
    "tree": Scene(tree),
    "changes": Scene(changes, git=True, sizes=((120, 40), (160, 40), (80, 24))),
    "blame": Scene(blame, git=True),
    "palette": Scene(palette),
    "mention": Scene(mention),
    "history": Scene(history, kept=True),
    "history-search": Scene(history_search, kept=True, sizes=((160, 40),)),
    "history-hit": Scene(history_hit, kept=True, sizes=((120, 40),)),
    "help": Scene(help_page),
    "settings": Scene(settings, sizes=((120, 40), (80, 24))),
    "aside": Scene(aside),
    "subagents": Scene(subagents),
}
