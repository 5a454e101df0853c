"""What keys and clicks in the panels above the composer do: questions, trouble, what waits, what is attached."""

from __future__ import annotations

from catena.screens.chat_writing import ChatWriting
from catena.widgets.asked_change import change_in_words, styled_diff
from catena.widgets.attachment_bar import AttachmentBar
from catena.widgets.permission_panel import PermissionPanel
from catena.widgets.queue_list import QueueList
from catena.widgets.trouble_panel import TroublePanel


class ChatPanels(ChatWriting, inherit_bindings=False):
    """Hands over what the person decides in a panel."""

    def on_permission_panel_answered(self, event: PermissionPanel.Answered) -> None:
        """The person answered."""
        if self.acts is not None:
            if event.reason:
                self.permission.take_reason()
            self.acts.run(self.acts.talk.answer(event.ask, event.option, event.reason))

    def on_permission_panel_reason_left(self, event: PermissionPanel.ReasonLeft) -> None:
        """A reason for which the question is gone is a text like any other."""
        if self.acts is not None and (tab := self.acts.talk.asks(event.ask)):
            self.acts.desk.give_back(tab, event.text)

    def on_permission_panel_diff_wanted(self, event: PermissionPanel.DiffWanted) -> None:
        """Show the whole change."""
        from catena.screens.page import PageScreen

        change = styled_diff(change_in_words(event.ask.tool_call))
        self.app.push_screen(PageScreen("the change that is asked for", change))

    def on_permission_panel_mistyped(self, event: PermissionPanel.Mistyped) -> None:
        """A key without a meaning."""
        self.hints.say(event.text)

    def on_trouble_panel_taken(self, event: TroublePanel.Taken) -> None:
        """The person does something about the trouble; what they type next is a text again."""
        self.set_focus(self.composer)
        if self.acts is not None:
            self.acts.run(self.acts.trouble.take(event.offer))

    def on_trouble_panel_mistyped(self, event: TroublePanel.Mistyped) -> None:
        """A key without a meaning."""
        self.hints.say(event.text)

    def on_trouble_panel_left(self) -> None:
        """The trouble is over: the keys go back to the composer."""
        self.set_focus(self.composer)

    def on_queue_list_removed(self, event: QueueList.Removed) -> None:
        """A click takes a waiting prompt back."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.talk.take_back(tab, event.item))

    def on_queue_list_deleted(self, event: QueueList.Deleted) -> None:
        """A waiting prompt is not wanted any more."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.queue.delete(tab, event.item))

    def on_queue_list_sent_now(self, event: QueueList.SentNow) -> None:
        """A waiting prompt goes before all others."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.queue.send_now(tab, event.item))

    def on_queue_list_moved(self, event: QueueList.Moved) -> None:
        """A waiting prompt gets another place."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.queue.move(tab, event.item, event.position))

    def on_queue_list_left(self) -> None:
        """Nothing waits any more."""
        self.set_focus(self.composer)

    def on_conversation_area_chosen(self) -> None:
        """The prompt to be edited was chosen."""
        self.action_act("edit")

    def on_edit_panel_left(self) -> None:
        """A click gives the draft back."""
        if self.acts is not None:
            self.acts.edits.leave_edit()

    def on_lineage_line_wanted(self) -> None:
        """A click goes to the source, or to a fork."""
        self.action_act("lineage")

    def on_attachment_bar_removed(self, event: AttachmentBar.Removed) -> None:
        """A click takes a file off."""
        if self.acts is not None and (tab := self._tab):
            self.acts.run(self.acts.attaching.remove(tab, event.index))
