"""The commands of one chat: they are dispatched by name, and what goes wrong in them is said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, assert_never

from catena.screens.chat.actions.chat_actions import ChatActions
from catena.screens.chat.bars.composer_edges import EditLeft
from catena.screens.chat.bars.find import FindBar
from catena.screens.chat.commands.startup_commands import StartupCommands
from catena.screens.chat.commands.table import command, listed_commands, slash_command
from catena.screens.chat.commands.unknown_commands import refusal_of
from catena.screens.chat.context import ChatContext, ChatHost, ScreenPanes
from catena.screens.chat.drafts import Drafts
from catena.screens.chat.panels.attachments import AttachmentBar
from catena.screens.chat.panels.elicitation import ElicitationPanel
from catena.screens.chat.panels.permission import PermissionPanel
from catena.screens.chat.panels.queue import QueueList
from catena.screens.chat.panels.start import StartPanel
from catena.screens.chat.panels.trouble import TroublePanel
from catena.screens.chat.presenter import Parts, TabPresenter
from catena.settings.file.location import config_directory
from catena.settings.templates import Template, known_templates
from catena.terminal.programs import EditorFailed
from catena.text.shell_text import ShellText
from catena.transcript import Transcript
from catena.widgets.commands import split_slash
from catena.widgets.composer import Composer
from catena.workspace.outgoing import OutgoingText, Stage, UnplacedDraft
from catena.workspace.panes import Pane
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs
from catena_acp.continuity.routing.slash_commands import as_prose, draft_of
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

if TYPE_CHECKING:
    from catena.screens.chat.commands.area_commands import ChatEvent

_Change: TypeAlias = (
    QueueList.Removed | QueueList.Deleted | QueueList.SentNow | QueueList.Moved | AttachmentBar.Removed
)


class Commands:
    """Does what a command says. What goes wrong is said in the hint line; nothing is raised."""

    def __init__(
        self,
        screen: ChatHost,
        parts: Parts,
        tabs: OpenTabs,
        pane: Pane,
        panes: ScreenPanes,
        presenter: TabPresenter,
        startup: StartupCommands,
    ) -> None:
        """``startup`` has the texts that were written before the tabs were there."""
        drafts = Drafts(
            parts.composer,
            tabs,
            pane,
            presenter,
            startup.draft,
            go=self._go,
            keep=lambda tab: self.run(tabs.keep(tab)),
            changed=screen.keep_soon,
        )
        self.context = context = ChatContext(screen, parts, tabs, pane, panes, presenter, drafts, self.run)
        self.actions = ChatActions(context, commands=listed_commands(context.keys), do=self._act)
        self._startup = startup
        self._submissions = Submissions(context, self.actions)

    @property
    def tab(self) -> Tab | None:
        """The active tab."""
        return self.context.tab

    @property
    def shown(self) -> Tab | None:
        """The tab whose transcript is on the screen."""
        return self.context.presenter.shown

    @property
    def may_submit(self) -> bool:
        """False for a draft that is left, and for one that nobody touched, of a tab that is not on the screen yet."""
        drafts = self.context.drafts
        return not (drafts.left_behind or (drafts.untouched and self.actions.tabs.on_the_way))

    @property
    def text_waits(self) -> bool:
        """True while a text on which Enter was pressed waits to go out."""
        return bool(self.context.tabs.outgoing.waiting())

    async def begin(self) -> None:
        """Bring the tabs back; what was sent before they were there goes out then."""
        for text in self._startup.cleared_texts:
            self.cleared(text)
        with self.context.drafts.under_way(self._startup.draft):
            await self.actions.tabs.begin(self._startup.draft, history=self.actions.choose_from_history)

    # --- its pane

    def settle(self) -> None:
        """End the time before the tabs were there, in a pane that is opened later."""
        with self.context.drafts.under_way(self._startup.draft):
            pass
        self.actions.tabs.beginning = False

    def restore(self, tab: Tab) -> Awaitable[None]:
        """Show the tab that stood in this pane at the last start; the keys stay where they are."""
        return self.actions.tabs.show(tab)

    async def take(self, tab: Tab, arrived: Callable[[], None]) -> None:
        """Show a tab that was sent to this pane, which gets the keys; ``arrived``: its composer is the tab's."""
        await self.actions.tabs.take(tab, arrived)

    def put_away(self) -> None:
        """Leave the tab to itself: the pane is about to be closed."""
        self.actions.tabs.put_away()

    def panes_changed(self) -> None:
        """Draw what depends on which panes are open, which are in sight and which has the keys."""
        presenter, panes = self.context.presenter, self.context.tabs.panes.open
        self.context.parts.transcript.frames.among = sum(pane.in_sight for pane in panes)
        presenter.look()
        if presenter.shown is not None:
            presenter.refresh()
        self.context.drafts.release()

    # --- acts

    def run(self, act: Awaitable[None]) -> None:
        """Let an action go on by itself, and say what goes wrong."""
        self.context.screen.run(self._guarded(act))

    async def _guarded(self, act: Awaitable[None]) -> None:
        try:
            await act
        except (AgentError, StoreError, ReadOnly, EditorFailed) as error:
            self.context.say(str(error), wrong=True)
        finally:
            self.context.panes.close_empty()

    def do(self, name: str) -> None:
        """Do what the command of this name does."""
        if name != "quit":
            self.stay()
        self.run(self._act(name))

    def _act(self, name: str) -> Awaitable[None]:
        return _action(name, "", self.actions, self.context)

    def refusal(self, text: str) -> str:
        """Why a text is not taken: it is a command that neither Catena nor the agent of its tab has."""
        tab = self.context.drafts.tab
        announced = tab.session.commands if tab is not None and tab.session is not None else None
        return refusal_of(text, None if announced is None else [each.name for each in announced])

    def submit(self, text: str) -> None:
        """Take a text on which Enter was pressed."""
        if not _quits(text):
            self.stay()
        self._submissions.submit(text)

    def run_shell(self, shell: ShellText, typed: str) -> bool:
        """Run a shell command; its output goes into the draft that it was typed in."""
        self.stay()
        self.actions.shell.start(shell, typed)
        return True

    def stop_shell(self) -> bool:
        """Stop the shell command; False if none runs."""
        return self.actions.shell.stop()

    def _go(self, outgoing: OutgoingText) -> None:
        self._submissions.go(outgoing)

    def handle(self, event: ChatEvent) -> None:
        """Do what the person wants by a key or a click in a widget."""
        context, actions, tab = self.context, self.actions, self.context.tab
        match event:
            case PermissionPanel.Answered():
                self.run(actions.prompts.answer(event.ask, event.option, event.reason, rule=event.rule))
            case ElicitationPanel.Answered():
                self.run(actions.prompts.answer_elicitation(event.ask, event.answer))
            case PermissionPanel.ReasonLeft():  # without its question it is a text like any other
                if asking := actions.prompts.asks(event.ask):
                    context.drafts.restore(asking, as_prose(event.text))
            case TroublePanel.Taken():
                self.run(actions.trouble.take(event.offer))
            case (
                QueueList.Removed()
                | QueueList.Deleted()
                | QueueList.SentNow()
                | QueueList.Moved()
                | AttachmentBar.Removed()
            ):
                if tab is not None:
                    self.run(self._change(tab, event))
            case EditLeft():
                actions.edits.leave_edit()
            case StartPanel.Taken():
                self.run(context.gate.led(actions.start.take()))
            case Composer.SentEmpty() if actions.start.heeds_keys:
                self.run(context.gate.led(actions.start.take()))
            case Composer.SentEmpty():
                self.run(actions.prompts.go_on())
            case Composer.Walked() if actions.start.heeds_keys and not (
                event.older and actions.prompts.cleared_here
            ):
                actions.start.move(-1 if event.older else 1)
            case Composer.Walked():
                self.run(actions.prompts.walk(older=event.older))
            case FindBar.Looked():
                actions.finding.look(event.text)
            case FindBar.Stepped():
                actions.finding.step(event.step)
            case Transcript.OlderRequested():
                self.run(context.presenter.show_older())
            case Transcript.NewerRequested():
                self.run(context.presenter.show_newer())
            case Transcript.PlaceRequested():
                self.run(context.presenter.go_to(event.scroll))
            case Transcript.ImagesWanted():
                self.run(actions.images.draw(event.wanted))
            case Transcript.SeamOpened():
                self.run(context.presenter.show_seam_detail(event.message_id))
            case Transcript.SiblingRequested():
                actions.branches.sibling_clicked(event.message_id, event.step)
            case Transcript.BranchRequested():
                actions.branches.clicked(event.message_id, event.act)
            case _:
                assert_never(event)

    def _change(self, tab: Tab, event: _Change) -> Awaitable[None]:
        """Change what waits in a tab, or what is attached to its draft."""
        actions = self.actions
        match event:
            case QueueList.Removed():
                return actions.prompts.restore_queued(tab, event.item)
            case QueueList.Deleted():
                return actions.queue.delete(tab, event.item)
            case QueueList.SentNow():
                return actions.queue.send_now(tab, event.item)
            case QueueList.Moved():
                return actions.queue.move(tab, event.item, event.position)
            case AttachmentBar.Removed():
                return actions.attachments.remove(tab, event.index)
            case _:
                assert_never(event)

    def led(self, act: Awaitable[None]) -> Awaitable[None]:
        """Wrap an action for which the keys wait."""
        return self.context.gate.led(act)

    async def templates(self, directory: str) -> Sequence[Template]:
        """The prompt templates of a directory and the person's own, with the answers about the project's."""
        return await known_templates(config_directory(), directory, self.context.tabs.store)

    async def mentioned_paths(self) -> Sequence[str]:
        """The files that came with prompts of this conversation, the newest first."""
        tab = self.tab
        return await self.actions.attachments.mentioned_paths(tab) if tab is not None else ()

    def attach(self, paths: Sequence[str]) -> None:
        """Attach files whose paths were pasted."""
        self.actions.attachments.attach_pasted(paths)

    def attach_image(self, content: bytes) -> None:
        """Attach an image that was pasted."""
        self.actions.attachments.attach_image(content)

    def detach_paths(self, paths: Sequence[str]) -> None:
        """Detach files whose paths stand in the text again."""
        self.run(self.actions.attachments.detach_paths(paths))

    def escaped(self, *, idle: bool) -> None:
        """Note that Esc was pressed; pressed twice while ``idle``, a prompt is to be chosen."""
        self.actions.edits.escaped(idle=idle)

    def typed(self) -> None:
        """Note that another key was pressed."""
        self.actions.edits.typed()
        self.actions.quitting.ask()

    def cleared(self, text: str) -> None:
        """Remember a text that the person has cleared: ↑ brings it back."""
        self.run(self.actions.prompts.cleared(text))

    def begin_typing(self) -> None:
        """Empty the composer of a text that is left behind."""
        self.context.drafts.begin_typing()

    def write(self) -> None:
        """Take the text of the composer over into its tab."""
        self.context.drafts.write()
        text, quits = self.context.parts.composer.text, command("quit")
        if not any(f"/{name}".startswith(text) for name in (quits.name, *quits.aliases)):
            self.stay()

    def save(self) -> None:
        """Save the draft and the scroll position of the tab that is written for."""
        if tab := self.context.drafts.tab:
            self.run(self.context.tabs.keep(tab))

    def drawn(self) -> None:
        """Price an edit or a retry anew where what it depends on has changed."""
        self.actions.edits.price_anew()
        self.actions.trouble.price()

    def stay(self) -> bool:
        """Withdraw the question whether to quit."""
        return self.actions.quitting.stay()

    def close_innermost(self) -> bool:
        """Leave an edit, stop waiting, dismiss trouble, in this order; False if there is none of them."""
        actions = self.actions
        return actions.edits.leave_edit() or actions.trouble.stop_waiting() or actions.trouble.dismiss()

    def leave_choosing(self) -> None:
        """Stop choosing a prompt in the transcript."""
        self.actions.edits.leave_choosing()

    def step_tab(self, step: int) -> None:
        """Go through the tabs."""
        self.stay()
        self.actions.tabs.step(step)

    def go_to_tab(self, index: int) -> None:
        """Go to a tab, counted from 0."""
        self.stay()
        self.actions.tabs.go_to(index)

    def detach(self, written: str) -> None:
        """Write everything on the screen back to its tab."""
        self.actions.prompts.detach()
        self.context.drafts.detach()


class Submissions:
    """What Enter does: a command of ours is done, anything else goes to the agent."""

    def __init__(self, context: ChatContext, actions: ChatActions) -> None:
        self._context = context
        self._actions = actions

    def submit(self, text: str) -> None:
        """Submit a text that has left the composer; it goes out as soon as its place is there."""
        context, actions = self._context, self._actions
        actions.prompts.stop_walking()
        tab = context.drafts.tab
        if context.drafts.nowhere and actions.start.keeps_text and not _is_command(text):
            context.parts.composer.put(text)
            context.run(context.gate.led(actions.start.take()))
            return
        if tab is not None and tab.editing and not _is_command(text):
            actions.edits.submit(tab, text)
        else:
            context.tabs.outgoing.add(text, context.drafts.place)
            if tab is not None and tab.editing:  # the edited prompt takes the place of the command
                context.parts.composer.put(draft_of(tab.editing.prompt))
            context.drafts.write()
            if (context.drafts.nowhere or actions.start.heeds_keys) and not _is_command(text):
                context.run(actions.start.take())
        if tab is not None:
            actions.tabs.try_again(tab)
        context.drafts.release()

    def go(self, outgoing: OutgoingText) -> None:
        """Do a command, or send a prompt: its place is there."""
        context, text = self._context, outgoing.text
        tab = None if isinstance(outgoing.draft, UnplacedDraft) else outgoing.draft
        slash = split_slash(text)
        wanted = slash_command(slash[0]) if slash else None
        if tab is not None and tab not in context.tabs.tabs:  # closed since: there is nowhere to show it
            context.drafts.restore_outgoing(outgoing)
        elif slash and wanted and outgoing.send is None:
            self._do(wanted.name, slash[1], outgoing, tab)
        elif tab is not None:
            outgoing.stage = Stage.STORING  # from now on: nobody else sends it, or restores it
            send = outgoing.send
            context.run(
                send(tab, outgoing) if send else self._actions.prompts.send(tab, text, outgoing=outgoing)
            )

    def _do(self, name: str, argument: str, outgoing: OutgoingText, tab: Tab | None) -> None:
        """Do a command that was entered."""
        context = self._context
        if tab is not context.tab:  # it would be done to another one
            context.drafts.restore_outgoing(outgoing)
            return
        outgoing.stage = Stage.HELD
        context.run(self._begun(_action(name, argument, self._actions, context), outgoing))
        context.drafts.release()

    async def _begun(self, act: Awaitable[None], outgoing: OutgoingText) -> None:
        """The command is under way, and answers for itself."""
        self._context.tabs.outgoing.remove(outgoing)
        await act


def _action(name: str, argument: str, actions: ChatActions, context: ChatContext) -> Awaitable[None]:
    """What the command of this name does; the keys wait for it where it leads them elsewhere."""
    wanted = command(name)
    if wanted.needs_argument and not argument:
        context.drafts.prefix(f"/{name} ")
        context.say(f"Add what is missing: /{name} {wanted.argument}")
        return _nothing()
    act = wanted.action(actions, argument)
    return context.gate.led(act) if wanted.leads else act


def _is_command(text: str) -> bool:
    slash = split_slash(text)
    return slash is not None and slash_command(slash[0]) is not None


def _quits(text: str) -> bool:
    slash = split_slash(text)
    return slash is not None and slash_command(slash[0]) is command("quit")


async def _nothing() -> None:
    """Do nothing."""
