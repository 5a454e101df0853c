"""Every command by its name, and the acts that only look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

from catena.screens.chat.actions import settings as choices
from catena.screens.chat.actions.asides import AsideActions
from catena.screens.chat.actions.attachments import AttachmentActions
from catena.screens.chat.actions.branches import BranchActions
from catena.screens.chat.actions.checkpoints import CheckpointActions
from catena.screens.chat.actions.editing import EditActions
from catena.screens.chat.actions.inspect import ChainActions, TreeActions, UsageActions
from catena.screens.chat.actions.logins import LoginActions
from catena.screens.chat.actions.prompts import PromptActions, QueueActions
from catena.screens.chat.actions.settings import SettingsActions
from catena.screens.chat.actions.tabs import SuspendAction, TabActions, TakeoverActions
from catena.screens.chat.actions.trouble import TroubleActions
from catena.screens.chat.actions.undo import UndoActions
from catena.screens.chat.context import ChatContext
from catena.screens.chat.drafts import Handover
from catena.screens.chat.presenter import Parts, TabPresenter
from catena.screens.common.picker import Picker, fuzzy_match
from catena.terminal.programs import EditorFailed, edit_text
from catena.widgets.commands import OWN_COMMANDS, own_command, split_slash
from catena.widgets.row_list import Row
from catena.workspace.pending import PendingText
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError
from catena_store.records import Kind

if TYPE_CHECKING:
    from catena.screens.chat.screen import ChatScreen


Act = Callable[[str], Awaitable[None]]

# They open a screen or move the focus, and what is typed behind them is meant for that place.
_LEADING = frozenset(
    {
        "add-dir",
        "again",
        "agent",
        "browse",
        "btw",
        "chain",
        "checkpoints",
        "context",
        "files",
        "find",
        "fork",
        "fork-beside",
        "help",
        "history",
        "inputs",
        "lineage",
        "login",
        "logout",
        "mode",
        "model",
        "options",
        "palette",
        "pr",
        "queue",
        "reflog",
        "rewind",
        "stderr",
        "summary",
        "theme",
        "tree",
        "usage",
    }
)


class Commands:
    """Does what a command says. What goes wrong is said in the hint line; nothing is raised."""

    def __init__(self, screen: ChatScreen, parts: Parts, tabs: OpenTabs, view: TabPresenter) -> None:
        handover = Handover(
            parts.composer,
            tabs,
            view,
            send=self.submit,
            show=lambda tab: self.run(self.tabs.show(tab)),
            keep=lambda tab: self.run(tabs.keep(tab)),
            changed=screen.keep_soon,
        )
        self.desk = desk = ChatContext(screen, parts, tabs, view, handover, self.run)
        screen.branch.give_keys = desk.write_here
        self.tabs = TabActions(desk)
        self.talk = PromptActions(desk)
        self.chains = ChainActions(desk)
        self.settings = SettingsActions(desk, prices=self.chains.prices)
        self.queue = QueueActions(desk)
        self.attaching = AttachmentActions(desk)
        self.domains = UsageActions(desk)
        self.trouble = TroubleActions(desk, self.talk, do=self.do, choose_agent=self.settings.agent)
        self.logins = LoginActions(desk, self.talk)
        self.undoing = UndoActions(desk, self.tabs)
        self.asides = AsideActions(desk, self.tabs)
        self.edits = EditActions(desk, screen.branch)
        self.branches = BranchActions(desk, self.tabs, self.edits, screen.branch)
        self.trees = TreeActions(desk, self.tabs, self.branches)
        self.checkpoints = CheckpointActions(desk, self.branches)
        self._by_name: dict[str, Act] = {
            "new": self.tabs.new,
            "history": self.tabs.history,
            "close": self.tabs.close,
            "rename": self.talk.rename,
            "clear": self.talk.clear,
            "retry": self.edits.retry,
            "again": self.edits.again,
            "edit": self.edits.edit,
            "fork": self.branches.fork,
            "fork-beside": self.branches.fork_beside,
            "sibling-before": self.branches.sibling_before,
            "sibling-after": self.branches.sibling_after,
            "branch-point-before": self.branches.branch_point_before,
            "branch-point-after": self.branches.branch_point_after,
            "lineage": self.branches.lineage,
            "tree": self.trees.tree,
            "stop": self.talk.stop,
            "checkpoint": self.checkpoints.checkpoint,
            "label": self.checkpoints.label,
            "checkpoints": self.checkpoints.checkpoints,
            "rewind": self.checkpoints.rewind,
            "stderr": self.trouble.last_lines,
            "suspend": SuspendAction(desk).suspend,
            "takeover": TakeoverActions(desk).take_over,
            "queue": self.queue.enter,
            "attach": self.attaching.attach,
            "detach": self.attaching.detach,
            "unqueue": self.talk.unqueue,
            "inputs": self.talk.search_inputs,
            "agent": self.settings.agent,
            "login": self.logins.login,
            "logout": self.logins.logout,
            "model": self.settings.model,
            "mode": self.settings.mode,
            "options": self.settings.options,
            "theme": self.settings.theme,
            "chain": self.chains.chain,
            "context": self.chains.context,
            "files": self.domains.files,
            "usage": self.domains.usage,
            "add-dir": self.domains.add_directory,
            "btw": self.asides.btw,
            "summary": self.asides.summary,
            "pr": self.asides.pull_request,
            "find": self.find,
            "browse": self.browse,
            "editor": self.editor,
            "copy": self.copy,
            "palette": self.palette,
            "help": self.help,
            "undo": self.undoing.undo,
            "redo": self.undoing.redo,
            "reflog": self.undoing.reflog,
            "delete": self.undoing.delete,
            "archive": self.undoing.archive,
            "quit": self.quit,
        }

    def do(self, name: str, argument: str = "") -> None:
        """Do what the command of this name does."""
        self.run(self._act(name, argument))

    def _act(self, name: str, argument: str) -> Awaitable[None]:
        """What the command of this name does; the keys wait for it where it leads them elsewhere."""
        act = self._by_name[name](argument)
        return self.desk.gate.led(act) if name in _LEADING else act

    def close_innermost(self) -> bool:
        """Leave an edit, stop waiting, put trouble away, in this order; False where there is none of them."""
        return self.edits.leave_edit() or self.trouble.stop_waiting() or self.trouble.put_away()

    def run(self, act: Awaitable[None]) -> None:
        """Let an act go on by itself."""
        self.desk.screen.run_worker(self._guarded(act), group="acts")

    async def _guarded(self, act: Awaitable[None]) -> None:
        try:
            await act
        except (AgentError, StoreError, ReadOnly, EditorFailed) as error:
            self.desk.say(str(error), wrong=True)

    def submit(self, text: str, tab: Tab | None = None) -> None:
        """Enter: a command of ours is done, anything else goes to the agent.

        ``tab`` is the one that it was written for; where there was none, the one that is looked at.
        """
        slash = split_slash(text)
        command = own_command(slash[0]) if slash else None
        self.talk.stop_walking()
        desk = self.desk
        tab = tab or desk.tab
        entered = desk.handover.entered()
        if entered is None and tab is not None and desk.handover.put_off(text, tab):
            return
        with entered or nullcontext():
            if tab is not None and tab not in desk.tabs.tabs:  # closed since: there is nobody to tell it
                desk.parts.composer.give_back(text)
            elif slash and command:
                self._do_entered(command.name, slash[1], text, tab)
            elif tab and tab.editing:
                self.run(self.edits.send(tab, text))
            else:
                self.run(self._send(text, tab, self.talk.hold(tab, text)))

    def _do_entered(self, name: str, argument: str, text: str, tab: Tab | None) -> None:
        """Do a command that was entered with this text."""
        handover = self.desk.handover
        if tab is not None and tab is not self.desk.tab:  # it would be done to another one
            self.desk.give_back(tab, text)
            return
        if tab and tab.editing and tab is handover.tab:  # it stood where the prompt stands that is edited
            handover.bring(tab.editing.prompt.text)
        held = self.talk.hold(tab, text)
        self.run(_begun(self._act(name, argument), held))

    async def _send(self, text: str, tab: Tab | None, held: PendingText) -> None:
        try:
            if tab is None:
                await self.tabs.first_tab()
                tab = self.desk.tab
        except (AgentError, StoreError, ReadOnly):
            if held.release():
                self.desk.parts.composer.give_back(text)
            raise
        if tab is not None:
            await self.talk.send(tab, text, held=held)
        elif held.release():
            self.desk.parts.composer.give_back(text)

    async def find(self, argument: str = "") -> None:
        """Open the find bar."""
        self.desk.screen.find_bar.open(argument)

    async def browse(self, argument: str = "") -> None:
        """Into the transcript, or back to the composer."""
        area = self.desk.screen.conversation
        if area.browsing:
            self.desk.write_here()
        else:
            area.browse()

    async def editor(self, argument: str = "") -> None:
        """Go on writing in the person's editor."""
        desk = self.desk
        composer = desk.parts.composer
        composer.put(await edit_text(desk.app, composer.text, desk.screen.environment))

    async def copy(self, argument: str = "") -> None:
        """Copy the last answer."""
        answer = self.desk.view.newest(Kind.AGENT)
        if answer is None:
            self.desk.say("There is no answer yet.")
        else:
            self.desk.app.copy_to_clipboard(self.desk.parts.transcript.text_of(answer.id))

    async def palette(self, argument: str = "") -> None:
        """Choose any command."""
        rows = [
            Row(each.name, f"/{each.name}", note=each.summary, detail=each.key)
            for each in OWN_COMMANDS
            if each.name != "palette"
        ]
        chosen = await self.desk.app.push_screen_wait(Picker("commands", rows, match=fuzzy_match))
        if chosen is not None:
            await self._by_name[chosen]("")

    async def help(self, argument: str = "") -> None:
        """The keys of this place, the commands, and the agents."""
        from catena.screens.common.page import PageScreen
        from catena.screens.help import help_text

        agents = [
            (row.label, f"{row.detail} {row.note}".strip())
            for row in choices.agent_rows(self.desk.settings, None)
        ]
        place = self.desk.screen.place
        elsewhere = {
            "reason": "question",
            "finding": "composer",
            "choosing": "browsing",
            "branch": "browsing",
        }
        place = elsewhere.get(place, place)
        await self.desk.app.push_screen_wait(PageScreen("help", help_text(place, agents)))

    async def quit(self, argument: str = "") -> None:
        """Leave; everything comes back."""
        self.desk.screen.leave()


async def _begun(act: Awaitable[None], held: PendingText) -> None:
    """The command is under way, and answers for itself."""
    held.release()
    await act
