"""The permission rules in force in a conversation: remove one, let it hold elsewhere, undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual.binding import BindingType

from catena.acts.settings import IN_SETTINGS, answered_words
from catena.keys.bindings import keys_of
from catena.screens.common.dialog import ListScreen, list_bindings
from catena.text.safe_text import safe_line
from catena.widgets.row_list import Row, RowList, Word
from catena.widgets.sheet_edges import SheetKey, Subject
from catena.workspace.keeping import NOTHING_TO_UNDO
from catena_acp.conversation.access.allowances import ConversationRules
from catena_acp.permissions.rule import Rule, RuleScope, rule_text


class PermissionsScreen(ListScreen[str | None]):
    """The rules in force, the narrowest first."""

    HEADING = "Permission rules"
    EMPTY = "no rules: you are asked each time; {always} at a request makes one"
    KEYS = (
        SheetKey("{rule_remove}", "remove", "remove"),
        SheetKey("{rule_scope}", "change where it applies", "move_scope"),
        SheetKey("{rule_undo}", "undo", "undo"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = list_bindings(KEYS)

    def __init__(
        self,
        rules: ConversationRules,
        *,
        apply: Callable[[], Awaitable[int]],
        subject: Subject,
    ) -> None:
        """``apply`` lets the rules answer what is open already, and returns how many requests that were."""
        super().__init__(subject)
        self._in_force = rules
        self._apply = apply
        self._rules: list[Rule] = []
        self._undoing: list[Callable[[], Awaitable[None]]] = []  # of the changes made here, the newest last

    async def on_mount(self) -> None:
        """Read the rules."""
        await self.attempt(self._read())

    async def _read(self) -> None:
        self._rules = list(await self._in_force.listed())
        rows = [
            Row(
                str(at),
                safe_line(rule.words),
                columns=(Word(rule.scope.place),),
            )
            for at, rule in enumerate(self._rules)
        ]
        self.show_head(f"Permission rules ({len(rows):,})")
        self.row_list.show(rows, keep=self.chosen_key)

    @property
    def _chosen(self) -> Rule | None:
        """The stored rule under the cursor; says so where it is in the settings file."""
        key = self.chosen_key
        rule = self._rules[int(key)] if key is not None and int(key) < len(self._rules) else None
        if rule is not None and rule.scope is RuleScope.SETTINGS:
            self.say(IN_SETTINGS)
            return None
        return rule

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Ignore a click, which only moves the cursor."""
        event.stop()

    def action_remove(self) -> None:
        """Remove the rule under the cursor."""
        if (rule := self._chosen) is not None:
            rules = self._in_force
            self._undoing.append(lambda: rules.add(rule))
            self._change(rules.remove(rule), f"Removed: {rule_text(rule)}. {self._undoes}")

    def action_move_scope(self) -> None:
        """Let the rule under the cursor hold in the project instead of the conversation, or the other way round."""
        if (rule := self._chosen) is not None:
            rules = self._in_force
            other = RuleScope.PROJECT if rule.scope is RuleScope.CONVERSATION else RuleScope.CONVERSATION
            self._undoing.append(lambda: rules.move(rule, rule.scope))
            self._change(rules.move(rule, other), f"Now applies in {other.place}. {self._undoes}")

    @property
    def _undoes(self) -> str:
        return keys_of(self).said("{Rule_undo} undoes it.")

    def action_undo(self) -> None:
        """Undo the last change that was made on this sheet."""
        if self._undoing:
            self._change(self._undoing.pop()(), "Undone.")
        else:
            self.say(NOTHING_TO_UNDO)

    def _change(self, work: Awaitable[None], said: str) -> None:
        async def write() -> int:
            await work
            return await self._apply()

        async def change() -> None:
            answered = await self.finish(write())
            await self._read()
            self.say(said + answered_words(answered))

        self.run_worker(self.attempt(change()))
