"""A conversation: what an agent does and asks, and what stands around the composer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from catena.screens.chat.bars.find import FindBar
from catena.screens.chat.bars.tabs import TabBar
from catena.screens.chat.panels.attachments import AttachmentBar
from catena.screens.chat.panels.elicitation import ElicitationPanel
from catena.screens.chat.panels.permission import PermissionPanel
from catena.screens.chat.panels.queue import QueueList
from catena.screens.chat.panels.start import Welcome
from catena.screens.chat.panels.trouble import TroublePanel
from catena.screens.common.page import PageScreen
from catena.widgets.completion import CompletionList
from support.screen.pilot import Person, at_the_screen
from support.sizes.stop import DOWN, Tour, escape, stop

LONG = "say one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"


async def back_to_writing(person: Person) -> None:
    """Give the keys back to the composer."""
    for _ in range(4):
        if person.app.focused is person.composer:
            break
        await person.press("escape")
    await person.writing()


async def clear(person: Person) -> None:
    """Take away what is typed, without Esc: behind another one it would let the person choose a prompt."""
    await person.press("ctrl+c")
    await person.until(lambda: not person.draft, "an empty composer")


@stop("an empty chat", "Ask Rehearsal", shows=(Welcome,))
async def empty(person: Person) -> None:
    """A conversation that has not begun."""
    await person.first_tab()
    await person.sees("catena")


@stop("work of an agent", "Reply to")
async def work(person: Person) -> None:
    """Calls, a table, code and a list."""
    await person.answered(LONG)
    await person.answered(
        "think about it; tool read a/long/path/to/a/file.py; fail run make; table; code; todo"
    )
    await person.answered("edit! notes.txt; run pytest -q tests; say done with `code` and **bold**")


@stop("a plan", "Reply to")
async def plan(person: Person) -> None:
    """A plan of which not all is done."""
    await person.answered("plan")


@stop("browsing", "BROWSE", close=back_to_writing, moves=("k", "j"))
async def browsing(person: Person) -> None:
    """A message in the hands of the keys."""
    await person.browse()


@stop("finding", close=back_to_writing, shows=(FindBar,))
async def finding(person: Person) -> None:
    """A word that is looked for."""
    await person.press("ctrl+f")
    await person.until(lambda: person.area.place == "finding", "the find bar")
    await person.type("e")
    await person.sees(" of ")


@stop("commands to complete", close=clear, shows=(CompletionList,), moves=DOWN)
async def completing(person: Person) -> None:
    """The commands that fit what is typed."""
    await person.writing()
    await person.type("/c")
    await person.sees("/context")


@stop("files to mention", close=clear, shows=(CompletionList,))
async def mentioning(person: Person) -> None:
    """The files that fit what is typed."""
    await person.type("Look at @n")
    await person.sees("notes.txt")


@stop("what is attached", "notes.txt", close=clear, shows=(AttachmentBar,))
async def attached(person: Person) -> None:
    """A file that goes along with the next prompt."""
    await person.say("/attach notes.txt")
    await person.until(lambda: person.tab.attachments, "the file")


@stop("a shell command")
async def shell(person: Person) -> None:
    """The output of a command of the person's own."""
    await person.say("/detach")
    await person.done()
    await person.say("!echo a line of output")
    await person.sees("a line of output")


@stop("a long prompt", close=clear)
async def long_prompt(person: Person) -> None:
    """More than fits in the box."""
    await person.press("escape")
    await person.writing()
    person.composer.put("many words " * 60)


@stop("a permission", "Allow", "Reject", close=back_to_writing, shows=(PermissionPanel,))
async def permission(person: Person) -> None:
    """An edit that the agent wants to make."""
    await person.say("edit src/auth/notes.txt")
    await person.until(lambda: person.app.focused is person.area.panels.permission, "the keys to go there")


@stop("the change in full", "esc", close=escape, shows=(PageScreen,))
async def change(person: Person) -> None:
    """The diff of the permission."""
    await person.press("tab")
    await person.until(lambda: person.app.focused is person.area.panels.permission, "the keys to go there")
    await person.apart()
    await person.press("d")
    await person.sees_dialog(PageScreen)


async def allow(person: Person) -> None:
    """Allow what is asked, without a reason against it."""
    await person.press("escape")
    await person.until(lambda: person.app.focused is person.area.panels.permission, "the keys to go there")
    await person.apart()
    await person.press("y")
    await person.idle()


@stop("a reason", close=allow)
async def reason(person: Person) -> None:
    """Why not."""
    await person.until(lambda: person.app.focused is person.area.panels.permission, "the keys to go there")
    await person.apart()
    await person.press("r")
    await person.until(lambda: person.area.place == "reason", "the field")


async def decline(person: Person) -> None:
    """Decline what is asked."""
    await back_to_writing(person)
    await person.say("/stop")
    await person.idle()


@stop("a form", "Decline", close=decline, shows=(ElicitationPanel,))
async def form(person: Person) -> None:
    """Five fields to fill in."""
    await person.say("form")
    await person.until(lambda: person.area.place == "form", "the keys to go there")


@stop("a web page", "Open", "Decline", close=decline, shows=(ElicitationPanel,))
async def web_page(person: Person) -> None:
    """An address to open."""
    await person.say("ask url")
    await person.until(lambda: person.area.place == "page", "the keys to go there")


@stop("tabs", shows=(TabBar,))
async def tabs(person: Person) -> None:
    """Three tabs."""
    await person.new_tab()
    await person.answered("say in the second tab, which has a title that is far too long for a bar of tabs")
    await person.new_tab()
    await person.answered("say third")


@stop("the queue", "esc", close=back_to_writing, shows=(QueueList,), moves=DOWN)
async def queue(person: Person) -> None:
    """Prompts that wait while the agent works."""
    await person.say("say busy; hang")
    await person.sees("  busy")
    long = "say a first prompt that waits, and is longer than a narrow screen is wide"
    for place, text in (("next", long), ("2", "say second")):
        await person.say(text)
        await person.sees(f"{place:<6}{text[:12]}")
    await person.press("ctrl+n")
    await person.until(lambda: person.app.focused is person.area.panels.queue, "the keys to go there")


async def stop_all(person: Person) -> None:
    """Stop the turn, and take away what waits."""
    await person.press("escape", "escape")
    for _ in range(2):
        await person.say("/unqueue")
        await person.done()
        await clear(person)
    await person.idle()


@stop("the question before quitting", "/quit", close=stop_all)
async def quitting(person: Person) -> None:
    """Asked while an agent works."""
    person.chat.do("quit")
    await person.sees("is working")


@stop("a trouble", shows=(TroublePanel,))
async def trouble(person: Person) -> None:
    """The agent cannot answer for a while."""
    await person.say("say half of it; ratelimit 6000")
    await person.until(lambda: person.area.panels.trouble.open, "the trouble")
    await person.idle()


@stop("a trouble with the keys", close=back_to_writing, shows=(TroublePanel,))
async def trouble_with_keys(person: Person) -> None:
    """What can be done about it."""
    await person.press("tab")
    await person.until(lambda: person.area.place == "trouble", "the keys to go there")


@asynccontextmanager
async def begin(place: Path) -> AsyncIterator[Person]:
    """A conversation in a directory with a file."""
    (place / "notes.txt").write_text("a line\n")
    async with at_the_screen(str(place), environment={"COLORTERM": "truecolor"}) as person:
        yield person


TALKING = Tour(
    "talking",
    begin,
    (empty, work, plan, browsing, finding),
)
WRITING = Tour("writing", begin, (completing, mentioning, attached, shell, long_prompt))
ASKING = Tour("asking", begin, (permission, change, reason, form, web_page))
WAITING = Tour("waiting", begin, (tabs, queue, quitting, trouble, trouble_with_keys))
