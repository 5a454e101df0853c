"""Acts on several agents: the same prompt for each of them at once, and the comparison of branches."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from catena.acts.surface import Done, Here, LiveReport, Question, Refused, Report, ReportRow, Voice
from catena.settings.agents import leading_agents
from catena.text.chain_text import shared_words
from catena.text.changes_text import caveat_words, shown_path
from catena.text.formats import from_home, listed, shortened
from catena.text.names import numbered_again
from catena.text.safe_text import safe_line
from catena.workspace.tab import Tab
from catena_acp.changes.changed_file import FileDiff, diffs_of_files
from catena_acp.changes.reading import ChangeScope, Since
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.prompts.rows import clears
from catena_acp.errors import AgentError, NotAsked, StillAtWork
from catena_acp.port.port import AgentSpec
from catena_store.errors import StoreError
from catena_store.records import Kind, Message

_NOTHING_TO_ASK = "Write a prompt first, or put it after the agent: /ask AGENT PROMPT"
_STEERED = "The last prompt was sent into a running turn. Write the prompt after the agent: /ask AGENT PROMPT"
_MOST_FILES = 20  # of a branch whose changes are listed


@dataclass(frozen=True, slots=True)
class AskedBranch:
    """A branch to compare: its agent, its name in lists, its leaf, and whether its turn goes on."""

    agent: str
    name: str
    leaf_id: str
    works: bool = False
    tab: Tab | None = None  # that may be kept

    @property
    def title(self) -> str:
        """Its agent and its name: no other branch has both."""
        return " · ".join(dict.fromkeys((self.agent, self.name)))


@dataclass(frozen=True, slots=True)
class AskedBranches:
    """Branches of a tab's conversation, from the left."""

    of: Tab
    branches: Sequence[AskedBranch]


async def ask(on: Here, wish: str) -> Done:
    """Send the prompt behind the agents' names, else the draft, to the tab's agent and to these at once.

    Without either, send the last prompt to these. It goes to all of them, or to nobody. Asks first.
    """
    specs, typed = leading_agents(wish, on.settings)
    asking = await _asking(on, specs, typed)
    on.surface.say("Starting …")
    await on.surface.meanwhile(_ask_all(on, asking))
    return Done()


@dataclass(frozen=True, slots=True)
class _Asking:
    tab: Tab
    specs: Sequence[AgentSpec]
    text: str
    typed: bool = False  # behind the command, so that it is not the draft
    prompt: Message | None = None  # the last one


async def _asking(on: Here, specs: Sequence[AgentSpec], typed: str) -> _Asking:
    """Find out who is asked what, and whether the user wants that at its price."""
    tab, prompt = on.tab, None
    if tab.editing is not None:
        raise Refused("Send the edited prompt first, or leave the edit.")
    text = typed or tab.draft
    if not text.strip():
        prompt = await on.tabs.branches.prompt_of(tab.leaf_id) if tab.leaf_id else None
        if prompt is None or prompt.steered:
            raise Refused(_STEERED if prompt else _NOTHING_TO_ASK)
    elif clears(text):
        raise Refused(_NOTHING_TO_ASK)
    elif tab.at_work:
        raise StillAtWork
    point = prompt.parent_id if prompt else await tab.window.leaf.fork_point()
    price = tab.conversation.chain.price

    async def prices(offered: Sequence[AgentSpec]) -> list[str]:
        return [(await price(tab.window, spec=spec, leaf_id=point, apart=True)).words for spec in offered]

    if not specs:
        specs = [await on.surface.choose_agent("Ask which agent the same prompt?", prices=prices)]
    titles, priced = [safe_line(tab.title_of(spec)) for spec in specs], await prices(specs)
    if prompt is None:
        titles.insert(0, safe_line(tab.window.session.agent_title))
        priced.insert(0, (await price(tab.window)).words)
    titles = numbered_again(titles)
    where = safe_line(from_home(tab.conversation.record.cwd))
    await on.surface.ask(
        Question(
            f"Ask {listed(titles)} {'the last prompt, too' if prompt else 'this prompt at once'}?",
            "Ask",
            "; ".join(f"{title}: {words}" for title, words in zip(titles, priced, strict=True)),
            note=f"All of them work in {where}, and may change the same files.",
        )
    )
    return _Asking(tab, specs, text, bool(typed), prompt)


async def _ask_all(on: Here, asking: _Asking) -> None:
    """Fork for each of the agents, and send the prompt to all of them as soon as all are ready."""
    tab, prompt, text = asking.tab, asking.prompt, asking.text
    others, files = list[Tab](), tab.draft_files

    async def ready() -> None:
        try:
            for spec in asking.specs:
                at = prompt.id if prompt else None
                other, _ = await on.tabs.fork(tab, at=at, beside=True, agent=spec)
                others.append(other)
                if prompt is None:
                    other.draft, other.draft_files = text, files
                    await on.tabs.keep(other)
                    await on.tabs.keep_attachments(other)
        except (AgentError, StoreError):
            for other in others:
                await on.tabs.close(other)
            raise
        await on.surface.stand_beside(others[0])
        await _make_all_ready(others if prompt else (tab, *others))

    if prompt is not None:
        await ready()
    elif how := await on.surface.resend(tab, text, ready, apart=asking.typed):
        raise Refused(f"You edited the prompt: {how}.")
    text = others[0].draft if prompt else text
    for other in others:
        if other.draft.strip():
            await on.surface.resend(other, text)
    on.surface.say(f"Asked {_where(on, others)}. /compare compares the answers.")


def _where(on: Here, asked: Sequence[Tab]) -> str:
    """Who answers in which tab."""
    return ", ".join(
        f"{safe_line(each.window.session.agent_title)} in tab {at}"
        for at, each in enumerate(on.tabs.tabs, start=1)
        if each in asked
    )


async def _make_all_ready(tabs: Sequence[Tab]) -> None:
    """Wait until the agents of all tabs take a prompt. Raises NotAsked if one does not, other AgentErrors."""
    found = await asyncio.gather(*(tab.window.make_ready() for tab in tabs), return_exceptions=True)
    wrong = []
    for tab, problem in zip(tabs, found, strict=True):
        if isinstance(problem, BaseException):
            raise problem
        if problem is not None:
            wrong.append(f"{tab.window.session.agent_title}: {problem.text}")
    if wrong:
        raise NotAsked(f"Nothing was sent. {' '.join(wrong)} The prompt is the draft of each tab.")


async def compare(on: Here, number: str) -> Done:
    """Compare the branch with those of all other tabs of its kin, or with that of a tab by its number.

    If no other tab has one, compare the versions of the last prompt that has several.
    """
    tab, tabs = on.tab, on.tabs
    kin = [each for each in tabs.kin(tab) if each.leaf_id is not None]
    if number:
        other = next((each for at, each in enumerate(tabs.tabs, start=1) if number == f"{at}"), tab)
        if other is tab:
            raise Refused("/compare N compares this branch with that of another tab; /tabs lists them.")
        if tab.leaf_id is None or other.leaf_id is None:
            raise Refused("There is nothing to compare yet.")
        if other not in kin:
            raise Refused("These two share no beginning.")
        kin = [other]
    if kin:
        branches = [
            AskedBranch(
                each.window.session.agent_title, f"Tab {at}", each.leaf_id, each.window.busy, tab=each
            )
            for at, each in enumerate(tabs.tabs, start=1)
            if each.leaf_id is not None and (each is tab or each in kin)
        ]
        here = next((each for each in branches if each.tab is tab), None)
    else:
        await tab.conversation.settle()
        branches = [
            AskedBranch(
                each.agent or f"Version {at}", f"Version {at}", each.leaf_id, each.here and tab.window.busy
            )
            for at, each in enumerate(await tabs.branches.versions(tab), start=1)
        ]
        here = next((each for each in branches if tab.leaf_id == each.leaf_id), None)
    if here is None or len(branches) == 1:
        raise Refused("No prompt here has another version, and no other branch is open in a tab.")
    await asyncio.gather(*(each.tab.conversation.settle() for each in branches if each.tab))

    async def read() -> Report:
        found = await _comparison(tab, [here, *(each for each in branches if each is not here)])
        rows = [
            ReportRow(
                safe_line(each.title),
                (*(["here"] if each is here else []), *(["still working"] if each.works else [])),
                partial(keep, each),
            )
            for each in branches
        ]
        stopped = ", which stops their turns" if any(each.works for each in branches) else ""
        kept = Report("Keep", "Keep", rows, enter=f"keep one and close the tabs of the others{stopped}")
        return replace(found, then=kept) if kin else found

    keep = partial(_keep, on, branches)
    return Done(report=LiveReport(AskedBranches(tab, branches), read, keep))


async def _keep(on: Here, branches: Sequence[AskedBranch], kept: AskedBranch) -> Done:
    """Close the tabs of all branches but one, as far as they are still open."""
    agents, tabs = Counter(each.agent for each in branches), on.tabs

    def named(branch: AskedBranch) -> str:
        return safe_line(branch.agent if agents[branch.agent] == 1 else branch.title)

    def others() -> list[tuple[str, Tab]]:
        if kept.tab not in tabs.tabs:
            raise Refused(f"{name}'s tab is already closed; no other tab was. Its branch stays in /tree.")
        open_ones = (each for each in branches if each is not kept and each.tab in tabs.tabs)
        return [(named(each), each.tab) for each in open_ones if each.tab]

    def at_work() -> list[str]:
        return [title for title, tab in others() if tab.window.at_work]

    name = named(kept)
    if working := at_work():
        await on.surface.ask(Question(f"Stop {listed(working)}, and keep {name}?", "Keep it"))
    stopped, left = at_work(), others()
    if not left:
        return Done("Kept. No other tab of the comparison is open.")
    titles, gone = [title for title, _ in left], [tab for _, tab in left]
    # The last one is what /undo shows: where the user stood, if that is closed.
    gone.sort(key=lambda each: each is on.at)
    await on.surface.go(tabs.close(*gone), lambda _: kept.tab, leaving=gone[-1])
    were, are = ("was", "is") if len(stopped) == 1 else ("were", "are")
    ended = f" {listed(stopped)} {were} working and {are} stopped." if stopped else ""
    if len(gone) == 1:
        stay = f"The branch of {titles[0]} stays in /tree; /undo opens its tab again."
    else:
        stay = f"The branches of {listed(titles)} stay in /tree; /undo opens their tabs again."
    return Done(f"Kept {name}.{ended} {stay}")


async def _comparison(tab: Tab, branches: Sequence[AskedBranch]) -> Report:
    """Report where branches part, and what each says and changes from there on; the first one is that of the tab."""
    found = await tab.conversation.tree.compare(*(each.leaf_id for each in branches))
    scope, rows = ChangeScope(Since.CHECKPOINT, found.shared), list[ReportRow]()
    for tail, branch in zip(found.tails, branches, strict=True):
        name = "Here" if branch is branches[0] else branch.name
        changes = await tab.conversation.changes.read(branch.leaf_id, scope)
        spoken = [row for row in tail.rows if row.kind in (Kind.USER, Kind.AGENT)]
        works = ("still working",) if branch.works else ()
        files = f"{counted(len(changes.files), 'file')} changed"
        rows.append(ReportRow(f"{name}: {counted(len(spoken), 'message')}, {files}", works))
        for row in spoken:
            who = "You" if row.kind is Kind.USER else safe_line(branch.agent)
            rows.append(ReportRow(f"{name}, {who}: {shortened(row.text)}"))
        for diff in await asyncio.to_thread(diffs_of_files, changes.files[:_MOST_FILES]):
            path = shown_path(diff.file.path, changes.directory)
            rows.append(ReportRow(f"{name}, file: {path}", partial(_size, diff)))
        if (more := len(changes.files) - _MOST_FILES) > 0:
            rows.append(ReportRow(f"{name}: {counted(more, 'more file')}"))
        if tail.rows and (caveat := caveat_words(changes)):
            rows.append(ReportRow(f"{name}: {caveat}"))
    return Report("Comparison", "", rows, heading=shared_words(found))


def _size(diff: FileDiff, voice: Voice) -> Sequence[str]:
    return (voice.sizes(diff.added, diff.removed),)
