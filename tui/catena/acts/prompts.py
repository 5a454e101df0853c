"""Acts on what is written and sent: the agent's context, the queue, files that go along; and side questions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from catena.acts.agents import kept_agent
from catena.acts.surface import (
    NO_QUEUE,
    AnswerTo,
    Done,
    Here,
    LiveReport,
    Question,
    QuestionOption,
    Refused,
    Report,
    ReportRow,
    SideQuestion,
)
from catena.settings.agents import typed_agent
from catena.text.formats import size_in_words
from catena.text.safe_text import safe, safe_line
from catena.workspace.files_along import FilesAlong
from catena.workspace.tab import Tab
from catena.workspace.tab_branches import NO_PROMPTS
from catena_acp.continuity.conversation_events import Doing
from catena_acp.continuity.sending.prompt_blocks import SHOWN_PICTURES
from catena_acp.errors import StillAtWork
from catena_acp.port.port import AgentSpec
from catena_store.errors import NotFound
from catena_store.records import Attachment, QueueItem
from catena_store.windows.attached_files import MOST_FILES, read_file


async def clear(on: Here) -> Done:
    """Clear the agent's context: nothing above is sent to it again."""
    if on.tab.busy:
        raise StillAtWork
    await on.tab.window.clear()
    return Done()


async def stop(on: Here) -> Done:
    """Stop the turn; if the agent goes on for a while, end its process."""
    tab = on.tab
    if not tab.busy:
        raise Refused("Nothing is running here.")
    if tab.conversation.read_only:
        raise Refused("Only the Catena that this conversation is open in can stop it.")
    if tab.stop_unheeded:
        await tab.window.kill_agent()
        return Done(f"{safe_line(tab.agent_title)} was killed; its partial answer is saved.")
    if tab.doing is not Doing.STOPPING:
        await tab.window.stop()
    return Done()


async def retry(on: Here, agent: str) -> Done:
    """Send a prompt again, the last one unless one is meant, with another agent if one is named. Asks first.

    Without either, trouble that a retry would end is what is tried again.
    """
    tab, standing = on.tab, on.tab.trouble.standing
    spec = typed_agent(agent, on.settings) if agent else None
    if tab.at_work and on.message_id is None:
        raise StillAtWork
    if standing is not None and on.message_id is None and spec is None and not standing.gone_on:
        return await send_again(on, tab)
    branches, chain = on.tabs.branches, tab.conversation.chain
    below = on.message_id or tab.leaf_id
    prompt = await branches.prompt_of(below) if below else None
    if prompt is None:
        raise Refused(NO_PROMPTS)

    async def prices(specs: Sequence[AgentSpec]) -> list[str]:
        return [price.words for price in await chain.prices(tab.window, specs, leaf_id=prompt.parent_id)]

    along = FilesAlong(by_default=on.settings.files_follow)
    whom = f" with {safe_line(tab.title_of(spec))}" if spec else ""
    question = Question(
        f"Retry {on.surface.named(prompt.id, 'this prompt')}{whom}?",
        "Retry",
        (await chain.price(tab.window, spec=spec, leaf_id=prompt.parent_id)).words,
        (QuestionOption("agent", "Retry with another agent", "Other agent", again=True, typed="AGENT"),),
        "Stops the running turn." if tab.at_work else "",
        along=along,
        look=partial(along.look, tab.conversation.files, tab.window_id, prompt.parent_id),
    )
    if await on.surface.ask(question) == "agent":
        spec = await on.surface.choose_agent("Retry with which agent?", prices=prices)
        await on.surface.write()
    last = await branches.prompt_of(tab.leaf_id) if tab.leaf_id else None
    is_last = last is not None and last.id == prompt.id and not tab.busy
    again = is_last and along.choice is None  # files go back before a version of its own
    await tab.window.retry(agent=spec, prompt_id=None if again else prompt.id, choice=along.choice)
    await on.tabs.keep(tab)  # the draft goes along
    return Done()


async def send_again(on: Here, tab: Tab) -> Done:
    """Try again what was in trouble in a tab: a prompt that came back only while the draft holds it unchanged."""
    standing = tab.trouble.standing
    if tab.at_work:
        raise StillAtWork
    if standing is None:
        return Done()
    if not standing.about_prompt:
        tab.trouble.end()
        await tab.window.prepare()
    elif not standing.problem.returned or standing.prompt is None:
        await tab.window.retry()
    elif edited := await on.surface.resend(tab, standing.prompt):
        raise Refused(f"You edited the prompt: {edited}.")
    return Done()


async def queue(on: Here, wish: str) -> Done:
    """List the queue; `now`, `first`, `edit` or `remove` and a number do that with a prompt of it."""
    how, _, number = wish.partition(" ")
    items = on.tab.queue
    if how:
        if how not in ("now", "first", "edit", "remove") or not number.strip().isdecimal():
            raise Refused("/queue lists; /queue now N, first N, remove N, edit N.")
        if not 1 <= int(number) <= len(items):
            raise Refused(f"{int(number)} is not in the queue; /queue lists it.")
        return await change_queued(on, items[int(number) - 1], how)
    if not items:
        raise Refused(f"{NO_QUEUE} A prompt that you type while the agent works is queued.")

    async def read() -> Report:
        rows = [
            ReportRow(
                safe_line(item.text),
                ["waits for you" if item.held else ""],
                partial(change_queued, on, item, "edit"),
            )
            for item in items
        ]
        note = "/queue now N, first N, remove N or edit N; /queue send sends those that wait for you."
        return Report("Queue", "Queue", rows, note, enter="edit one")

    return Done(report=LiveReport(on.tab.window.queue, read))


async def unqueue(on: Here) -> Done:
    """Take the newest queued prompt back into the draft."""
    if not on.tab.queue:
        raise Refused(NO_QUEUE)
    return await change_queued(on, on.tab.queue[-1], "edit")


async def change_queued(on: Here, item: QueueItem, how: str, step: int = 0) -> Done:
    """Send a queued prompt `now` or `first`, `move` it, `remove` it, or take it back into the draft: `edit`."""
    window, busy, following = on.tab.window, on.tab.busy, "It is sent next."
    try:
        match how:
            case "now":
                if await window.send_now(item.id):
                    return Done("Sent to the running turn.")
                return Done(following if busy else "")
            case "first":
                await window.queue.move(item.id, 0)
                return Done(following)
            case "move":
                await window.queue.move_by(item.id, step)
                return Done()
            case "remove":
                await window.queue.remove(item.id)
                return Done("Removed. /history inputs finds the text.")
        await on.surface.write()
        await on.tabs.outgoing.finish(window.queue.restore(item.id))
    except NotFound as error:  # since the key was pressed
        raise Refused("That prompt is no longer queued.") from error
    return Done()


async def attach(on: Here, path: str) -> Done:
    """Attach a file to the next prompt; without a path, say what is attached."""
    if not path:
        files = [_shown(file) for file in on.tab.attached_files]
        if not files:
            raise Refused("/attach PATH attaches a file.")
        return Done(f"Attached: {', '.join(files)}. /attach remove removes the newest.")
    quoted = len(path) > 1 and path[0] == path[-1] and path[0] in "'\""
    remark = await attach_path(on.tab, path[1:-1] if quoted else path)
    await on.tabs.keep_attachments(on.tab)
    return Done(remark or f"Attached {_shown(on.tab.attachments[-1])}.")


async def detach(on: Here, name: str) -> Done:
    """Take an attached file away: the newest, or by its name."""
    tab = on.tab
    files = [file for file in tab.attached_files if not name or file.name == name]
    if not files:
        raise Refused(f"No {safe_line(name) or 'file'} is attached.")
    tab.attachments = tuple(file for file in tab.attachments if file is not files[-1])
    await on.tabs.keep_attachments(tab)
    return Done(f"{safe_line(files[-1].name)} is no longer attached.")


async def attach_path(tab: Tab, path: str) -> str:
    """Attach the file of a path to the draft of a tab, as ``attach_file`` does. Raises Refused, NotAttachable."""
    if len(tab.attachments) >= MOST_FILES:
        raise Refused(f"At most {MOST_FILES} files per prompt; {safe_line(path)} was not attached.")
    return attach_file(tab, await asyncio.to_thread(read_file, path, directory=tab.conversation.record.cwd))


def attach_file(tab: Tab, file: Attachment) -> str:
    """Attach a file; return in words that it was attached before, or what the agent does not take of it, else ""."""
    same = [other for other in tab.attachments if other.sha256 == file.sha256]
    if any(other.name == file.name or file.path is None for other in same):
        return f"{safe_line(same[0].name)} is attached already."
    tab.attachments = (*tab.attachments, file)
    return _image_limit(tab, file) if file.mime in SHOWN_PICTURES else ""


def _shown(file: Attachment) -> str:
    return f"{safe_line(file.name)}, {size_in_words(len(file.content))}"


def _image_limit(tab: Tab, image: Attachment) -> str:
    """What the agent of a tab does not take of an image that was attached; "" if it takes it."""
    session = tab.session or tab.window.session
    agent, limits = session.agent_title, session.image_limits
    if session.images is False:
        return f"{agent} does not take images: it gets the name of the file."
    if limits.most_bytes is not None and (size := len(image.content)) > limits.most_bytes:
        most = size_in_words(limits.most_bytes)
        return f"{agent} takes images up to {most}; {safe_line(image.name)} has {size_in_words(size)}."
    images = sum(file.mime in SHOWN_PICTURES for file in tab.attachments)
    if limits.most is not None and images > limits.most:
        return f"{agent} takes {limits.most} images with a prompt; there are {images}."
    return ""


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
