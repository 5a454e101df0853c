"""Permission rules and MCP servers of a conversation."""

from __future__ import annotations

from functools import partial

from catena.acts.surface import Refused
from catena.linear.context import LinearContext, ListRow
from catena.text.formats import from_home
from catena.text.safe_text import safe_line
from catena_acp.continuity.wording.counts import counted
from catena_acp.permissions.rule import Rule, RuleScope, rule_text

_PLACES = {
    RuleScope.CONVERSATION: "this conversation",
    RuleScope.PROJECT: "this project",
    RuleScope.SETTINGS: "settings file",
}


class RuleCommands:
    """Actions on what agents are allowed and given in the conversation that is read."""

    def __init__(self, context: LinearContext) -> None:
        self._context = context

    async def permissions(self) -> None:
        """List the permission rules; `/open` removes one."""
        found = await self._context.here.conversation.rules.listed()
        if not found:
            raise Refused("No rules: every request asks. An answer with “Always” makes one.")
        self._context.show(
            f"Permission rules: {len(found)}. /open and a number removes one.",
            [
                ListRow(
                    safe_line(
                        f"{'allow' if each.allow else 'reject'} {rule_text(each)}, {_PLACES[each.scope]}"
                    ),
                    partial(self._remove, each),
                )
                for each in found
            ],
        )

    async def _remove(self, rule: Rule) -> None:
        context = self._context
        if rule.scope is RuleScope.SETTINGS:
            raise Refused("This rule is in the settings file: change it there.")
        if await context.confirm(f"Remove the rule {rule_text(rule)}?", "remove it"):
            await context.here.conversation.rules.remove(rule)
            answered = await context.tabs.apply_rules(tuple)
            also = f" {counted(answered, 'open request')} answered." if answered else ""
            context.say(f"Removed: {rule_text(rule)}.{also}")

    async def servers(self, argument: str) -> None:
        """List the MCP servers; `allow` and `refuse` answer for those of the project's file."""
        context, tab = self._context, self._context.here
        servers = tab.conversation.servers
        listed = await servers.listed(tab.window_id)
        if argument in ("allow", "refuse"):
            if listed.project is None:
                raise Refused("This project has no file of MCP servers.")
            await servers.answer(listed.project, allowed=argument == "allow")
            context.say("Allowed until the file changes." if argument == "allow" else "Not used.")
            return
        for choice in listed.choices:
            state = choice.why if choice.sent is None else "sent"
            command = safe_line(choice.server.url or " ".join(choice.server.command))
            context.out.line(f"Server: {safe_line(choice.server.name)}, {state}, {command}")
        if listed.own is not None:
            context.out.line(f"Server: {safe_line(listed.own)}, Catena's own, sent")
        if listed.project is not None and listed.allowed is None and listed.project.servers:
            where = safe_line(from_home(str(listed.project.path)))
            context.say(f"{where} starts programs if you allow it: /mcp allow, /mcp refuse.")
        if not listed.choices and listed.own is None:
            raise Refused("No MCP servers: [mcp.NAME] in the settings adds one.")
