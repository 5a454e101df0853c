"""Handling of commands, of Enter, and of keys and clicks in widgets, once the store is open."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from operator import attrgetter
from typing import TypeAlias, assert_never

from catena.acts.table import FrontCommand
from catena.acts.unknown import refused_argument, unknown_command
from catena.screens.chat.actions.chat_actions import ChatActions
from catena.screens.chat.bars.composer_edges import EditLeft
from catena.screens.chat.bars.find import FindBar
from catena.screens.chat.commands.table import (
    SLASH_COMMANDS,
    command,
    listed_commands,
    slash_command,
    typed_command,
    worded_command,
)
from catena.screens.chat.context import ChatContext, ChatHost, ScreenPanes
from catena.screens.chat.drafts import Drafts
from catena.screens.chat.panels.attachments import AttachmentBar
from catena.screens.chat.panels.elicitation import ElicitationPanel
from catena.screens.chat.panels.permission import PermissionPanel
from catena.screens.chat.panels.queue import QueueList
from catena.screens.chat.panels.start import StartPanel
from catena.screens.chat.panels.trouble import TroublePanel
from catena.screens.chat.presenter import Parts, TabPresenter
from catena.transcript import Transcript
from catena.widgets.commands import split_slash
from catena.widgets.composer import Composer
from catena.workspace.outgoing import OutgoingText, Stage, UnplacedDraft
from catena.workspace.panes import Pane
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs
from catena_acp.continuity.routing.slash_commands import as_prose, command_name, draft_of

ChatEvent: TypeAlias = (
    AttachmentBar.Removed
    | Composer.SentEmpty
    | Composer.Walked
    | ElicitationPanel.Answered
    | PermissionPanel.Answered
    | EditLeft
    | FindBar.Looked
    | FindBar.Stepped
    | PermissionPanel.ReasonLeft
    | QueueList.Changed
    | QueueList.Moved
    | StartPanel.Taken
    | Transcript.BranchRequested
    | Transcript.ImagesWanted
    | Transcript.NewerRequested
    | Transcript.OlderRequested
    | Transcript.PlaceRequested
    | Transcript.SeamOpened
    | Transcript.SiblingRequested
    | TroublePanel.Taken
)
_Change: TypeAlias = QueueList.Changed | QueueList.Moved | AttachmentBar.Removed


def open_chat(
    screen: ChatHost,
    parts: Parts,
    tabs: OpenTabs,
    pane: Pane,
    panes: ScreenPanes,
    presenter: TabPresenter,
    draft: UnplacedDraft,
) -> ChatActions:
    """Make the actions of a chat whose store is open; ``draft`` has what was written before there were tabs."""
    drafts = Drafts(
        parts.composer,
        tabs,
        pane,
        presenter,
        draft,
        go=lambda outgoing: _go(outgoing, actions),
        keep=lambda tab: context.run(tabs.keep(tab)),
        changed=screen.keep_soon,
    )
    context = ChatContext(screen, parts, tabs, pane, panes, presenter, drafts)
    actions = ChatActions(
        context,
        commands=listed_commands(context.keys),
        do=lambda words: _action(*worded_command(words), actions),
    )
    return actions


def handle(event: ChatEvent, actions: ChatActions) -> None:
    """Do what the person wants by a key or a click in a widget."""
    context, tab = actions.context, actions.context.tab
    match event:
        case PermissionPanel.Answered():
            context.run(actions.prompts.answer(event.ask, event.option, event.reason, rule=event.rule))
        case ElicitationPanel.Answered():
            context.run(actions.prompts.answer_elicitation(event.ask, event.answer))
        case PermissionPanel.ReasonLeft():  # without its question it is a text like any other
            if asking := actions.prompts.asks(event.ask):
                context.drafts.restore(asking, as_prose(event.text))
        case TroublePanel.Taken():
            context.run(actions.trouble.take(event.offer))
        case QueueList.Changed() | QueueList.Moved() | AttachmentBar.Removed():
            if tab is not None:
                context.run(_change(tab, event, actions))
        case EditLeft():
            actions.edits.leave_edit()
        case StartPanel.Taken():
            context.run(context.gate.led(actions.start.take()))
        case Composer.SentEmpty() if actions.start.heeds_keys:
            context.run(context.gate.led(actions.start.take()))
        case Composer.SentEmpty():
            context.run(actions.prompts.go_on())
        case Composer.Walked() if actions.start.heeds_keys and not (
            event.older and actions.prompts.cleared_here
        ):
            actions.start.move(-1 if event.older else 1)
        case Composer.Walked():
            context.run(actions.prompts.walk(older=event.older))
        case FindBar.Looked():
            actions.finding.look(event.text)
        case FindBar.Stepped():
            actions.finding.step(event.step)
        case Transcript.OlderRequested():
            context.run(context.presenter.show_older())
        case Transcript.NewerRequested():
            context.run(context.presenter.show_newer())
        case Transcript.PlaceRequested():
            context.run(context.presenter.go_to(event.scroll))
        case Transcript.ImagesWanted():
            context.run(actions.images.draw(event.wanted))
        case Transcript.SeamOpened():
            context.run(context.presenter.show_seam_detail(event.message_id))
        case Transcript.SiblingRequested():
            actions.branches.sibling_clicked(event.message_id, event.step)
        case Transcript.BranchRequested():
            actions.branches.clicked(event.message_id, event.act)
        case _:
            assert_never(event)


def _change(tab: Tab, event: _Change, actions: ChatActions) -> Awaitable[None]:
    """Change what waits in a tab, or what is attached to its draft."""
    match event:
        case QueueList.Changed():
            return actions.act("catena.acts.prompts:change_queued", item=event.item, how=event.how)
        case QueueList.Moved():
            return actions.act(
                "catena.acts.prompts:change_queued", item=event.item, how="move", step=event.step
            )
        case AttachmentBar.Removed():
            return actions.attachments.remove(tab, event.index)
        case _:
            assert_never(event)


def submit(text: str, actions: ChatActions) -> None:
    """Submit a text that has left the composer; it goes out as soon as its place is there."""
    context = actions.context
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


def _go(outgoing: OutgoingText, actions: ChatActions) -> None:
    """Do a command, or send a prompt: its place is there."""
    context, text = actions.context, outgoing.text
    tab = None if isinstance(outgoing.draft, UnplacedDraft) else outgoing.draft
    slash = split_slash(text)
    wanted, argument = typed_command(*slash) if slash else (None, "")
    if tab is not None and tab not in context.tabs.tabs:  # closed since: there is nowhere to show it
        context.drafts.restore_outgoing(outgoing)
    elif wanted and outgoing.send is None:
        _do(wanted, argument, outgoing, tab, actions)
    elif tab is not None:
        outgoing.stage = Stage.STORING  # from now on: nobody else sends it, or restores it
        send = outgoing.send
        context.run(send(tab, outgoing) if send else actions.prompts.send(tab, text, outgoing=outgoing))


def _do(
    wanted: FrontCommand, argument: str, outgoing: OutgoingText, tab: Tab | None, actions: ChatActions
) -> None:
    """Do a command that was entered."""
    context = actions.context
    if tab is not context.tab:  # it would be done to another one
        context.drafts.restore_outgoing(outgoing)
        return
    outgoing.stage = Stage.HELD
    typed = outgoing.text if argument else ""
    context.run(_begun(_action(wanted, argument, actions, typed), outgoing, context))
    context.drafts.release()


async def _begun(act: Awaitable[None], outgoing: OutgoingText, context: ChatContext) -> None:
    """The command is under way, and answers for itself."""
    context.tabs.outgoing.remove(outgoing)
    await act


def _action(wanted: FrontCommand, argument: str, actions: ChatActions, typed: str = "") -> Awaitable[None]:
    """What a command does, and what was typed of it; the keys wait for it where it leads them elsewhere."""
    context = actions.context
    if wanted.needs_argument and not argument:
        context.drafts.prefix(f"/{wanted.words or wanted.name} ")
        context.say(f"Add what is missing: /{wanted.usage}")
        return _nothing()
    if refusal := refused_argument(wanted, argument, SLASH_COMMANDS):  # entered before the store was open
        context.drafts.restore(context.tab, f"/{wanted.words or wanted.name} {argument}")
        context.say(refusal, wrong=True)
        return _nothing()
    act: Awaitable[None]
    if ":" in wanted.does:
        given = {wanted.takes: argument} if wanted.takes else {}
        way = context.drafts.set_out(None if wanted.stays else context.tab) if wanted.moves else None
        at = None if wanted.at == "message" else ""  # else it is not about what is browsed
        act = actions.act(wanted.does, at=at, way=way, typed=typed, **given)
    else:
        action = attrgetter(wanted.does)(actions)
        act = action(argument) if wanted.argument else action()
    return context.gate.led(act) if wanted.leads else act


def _is_command(text: str) -> bool:
    slash = split_slash(text)
    return slash is not None and slash_command(slash[0]) is not None


def quits(text: str) -> bool:
    """True for the command that quits."""
    slash = split_slash(text)
    return slash is not None and slash_command(slash[0]) is command("quit")


def begins_to_quit(text: str) -> bool:
    """True for a text that may become the command that quits."""
    wanted = command("quit")
    return any(f"/{name}".startswith(text) for name in (wanted.name, *wanted.aliases))


async def _nothing() -> None:
    """Do nothing."""


def refusal_of(text: str, agent_commands: Sequence[str] | None, templates: Sequence[str] = ()) -> str:
    """Why a text is not sent: nobody has the command, or it does not take what stands behind it; "" for any other text.

    ``agent_commands`` are the names that the agent has announced; None before it has: then every text is sent.
    ``templates`` are names that may have been meant.
    """
    slash = split_slash(text)
    wanted, argument = typed_command(*slash) if slash else (None, "")
    if wanted is not None:
        return refused_argument(wanted, argument, SLASH_COMMANDS)
    name = command_name(text)
    if name is None or agent_commands is None or name in agent_commands or slash_command(name):
        return ""
    return unknown_command(name, SLASH_COMMANDS, "Your text is kept", (*agent_commands, *templates))
