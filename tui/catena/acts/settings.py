"""Acts on the user's settings, and on what agents are allowed and given: rules, MCP servers, templates."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from catena.acts.perform import carry_out
from catena.acts.prompts import ask
from catena.acts.surface import Done, Here, LiveReport, Question, Refused, Report, ReportRow, SideQuestion
from catena.acts.unknown import unknown_argument
from catena.errors import InvalidSettings, SettingsNotWritten
from catena.settings.checks import check_names
from catena.settings.effective import effective_settings, value_words
from catena.settings.file.document import config_directory, settings_path
from catena.settings.file.writing import SettingChange, file_value, key_of, write_setting
from catena.settings.settings import ADVANCED, Settings, definition_of
from catena.settings.templates import KnownTemplates, Template, answer_about, named_template
from catena.text.formats import from_home
from catena.text.safe_text import safe_line
from catena.text.secrets import SecretMask
from catena.workspace.tab import Tab
from catena.workspace.tabs import OpenTabs
from catena_acp.continuity.wording.counts import counted
from catena_acp.conversation.access.allowances import ConversationServers, ListedServers
from catena_acp.mcp.servers import PROJECT_FILE_NAME, McpServer, ServerChoice, ServerOrigin
from catena_acp.permissions.rule import Rule, RuleScope, rule_text
from catena_store.database.database import Database

_ADVANCED = "advanced"  # the word for those that are listed apart


@dataclass(frozen=True, slots=True)
class SettingsView:
    """The settings as a sheet shows them; ``advanced``: with those that are listed apart."""

    settings: Settings
    advanced: bool = False


async def settings(on: Here, wish: str) -> Done:
    """Show the settings, or those of a name; with a value, write one into the settings file."""
    path, (named, _, value) = settings_path(), wish.partition(" ")
    definition = definition_of(named)
    name = definition.name if definition else named
    if value.strip():
        try:
            change = SettingChange(key_of(name), file_value(definition, value.strip()))
            changed = await asyncio.to_thread(write_setting, path, change, check=check_names)
        except (ValueError, SettingsNotWritten, InvalidSettings) as error:
            raise Refused(str(error)) from error
        on.surface.use(changed)
        holds = f" It applies {definition.applies.value}." if definition else ""
        return Done(f"{safe_line(name)} is written into the settings file.{holds}")

    async def read() -> Report:
        rows = []
        for each in await asyncio.to_thread(effective_settings, path, os.environ):
            advanced = not ADVANCED.isdisjoint((each.name, each.key[0]))
            listed = name in ("", _ADVANCED) and advanced == bool(name)
            if listed or f"{each.name}.".startswith(f"{name}."):
                told = "hidden" if each.private and each.name != name else safe_line(value_words(each.value))
                line = f"line {each.line}" if each.line else "default"
                rows.append(ReportRow(each.name, [told, f"from {each.variable}" if each.variable else line]))
        if not rows:
            raise Refused(f"{safe_line(name)} is not a setting; /settings lists them.")
        if not name:
            rows.append(ReportRow("advanced", [f"/settings {_ADVANCED} lists {len(ADVANCED)} more"]))
        return Report("Settings", "Setting", rows)

    return Done(report=LiveReport(SettingsView(on.settings, advanced=name == _ADVANCED), read))


IN_SETTINGS = "This rule is in the settings file: change it there."
NO_SERVERS_FILE = f"This project has no {PROJECT_FILE_NAME}."


async def permissions(on: Here) -> Done:
    """Report the permission rules in force, each of which can be removed."""
    rules = on.tab.conversation.rules

    async def read() -> Report:
        rows = [
            ReportRow(safe_line(each.words), [each.scope.place], partial(_remove, on, each))
            for each in await rules.listed()
        ]
        if not rows:
            raise Refused("No rules: you are asked each time. An answer with “Always” makes one.")
        return Report("Permission rules", "Permission rules", rows, heading=f"{len(rows)}", enter="remove it")

    return Done(report=LiveReport(rules, read))


async def _remove(on: Here, rule: Rule) -> Done:
    if rule.scope is RuleScope.SETTINGS:
        raise Refused(IN_SETTINGS)
    await on.surface.ask(Question(f"Remove the rule {rule_text(rule)}?", "Remove it"))
    await on.tab.conversation.rules.remove(rule)
    return Done(f"Removed: {rule_text(rule)}.{answered_words(await on.tabs.apply_rules(tuple))}")


def answered_words(requests: int) -> str:
    """Say how many open requests rules have answered."""
    return f" {counted(requests, 'open request')} answered." if requests else ""


async def mcp(on: Here, answer: str) -> Done:
    """Report the MCP servers; `allow` and `refuse` answer for those of the project's file."""
    servers, window_id = on.tab.conversation.servers, on.tab.window_id
    if answer in ("allow", "refuse"):
        return Done(
            await answer_for_servers(servers, await servers.listed(window_id), allowed=answer == "allow")
        )
    if answer:
        raise Refused(unknown_argument(f"mcp {answer}", "/mcp [allow|refuse]"))

    async def read() -> Report:
        listed = await servers.listed(window_id)
        rows = [
            ReportRow(safe_line(each.server.name), [server_state(each, listed), server_place(each.server)])
            for each in listed.choices
        ]
        rows += [ReportRow(listed.own, ["Catena's own", "sent"])] if listed.own else []
        if not rows:
            raise Refused("No MCP servers: [mcp.NAME] in the settings adds one.")
        if words := unanswered_servers(listed):
            rows.append(ReportRow(f"{words}: /mcp allow, /mcp refuse."))
        return Report("MCP servers", "Server", rows)

    return Done(report=LiveReport(servers, read))


async def answer_for_servers(servers: ConversationServers, listed: ListedServers, *, allowed: bool) -> str:
    """Keep the answer about the project's file as it was listed; return what holds now. Raises Refused."""
    if listed.project is None:
        raise Refused(NO_SERVERS_FILE)
    await servers.answer(listed.project, allowed=allowed)
    until = f"until {PROJECT_FILE_NAME} changes"
    return (
        f"Allowed, {until}. The agent gets them with {_next(listed)}." if allowed else f"Not used, {until}."
    )


def unanswered_servers(listed: ListedServers) -> str:
    """Say what the project's file would do, if the user has not answered for it; else ""."""
    project = listed.project
    if project is None or listed.allowed is not None or not project.servers:
        return ""
    return f"{safe_line(from_home(project.path))} starts these programs if you allow it"


def server_state(choice: ServerChoice, listed: ListedServers) -> str:
    """Say what becomes of a server."""
    if choice.sent is None:
        return choice.why
    when = "sent" if choice.server.name in listed.in_session else f"sent with {_next(listed)}"
    missing = "/" not in str(choice.sent.get("command", "/"))
    return f"{when} · program not found here" if missing else when


def server_place(server: McpServer) -> str:
    """The program or the address of a server, without its secrets; a project's as it stands in its file."""
    text = server.url or shlex.join(server.command)
    return safe_line(text if server.origin is ServerOrigin.PROJECT else SecretMask().rewrite(text))


def _next(listed: ListedServers) -> str:
    """When the agent gets what is new."""
    return "the next session" if listed.open and not listed.reopens else "your next prompt"


async def templates(on: Here, answer: str) -> Done:
    """Report the prompt templates, or use one; `allow NAME` and `refuse NAME` answer for those of the project."""
    known = known_templates(on.tabs, on.at)
    verb, _, name = answer.partition(" ")
    if verb in ("allow", "refuse"):
        return await _answer(on, name.strip(), await known.read(), allowed=verb == "allow")
    if used := name if verb == "use" else answer:
        return await _use(on, await known.read(), *used.split(maxsplit=1))

    async def read() -> Report:
        rows = [
            ReportRow(f"/{each.name}", _answers(each), partial(_text, each)) for each in await known.read()
        ]
        return Report("Prompt templates", "Templates", rows, enter="read it")

    return Done(report=LiveReport(known, read))


def known_templates(tabs: OpenTabs, tab: Tab | None) -> KnownTemplates:
    """The templates of the user, and of the project of a tab or of new ones."""
    directory = tab.conversation.record.cwd if tab else tabs.directory
    return KnownTemplates(config_directory(), directory, tabs.store)


def _answers(template: Template) -> Sequence[str]:
    aside = "side question" if template.aside else ""
    if not template.of_project:
        return "shipped with Catena" if template.shipped else "", aside
    answer = {True: "allowed", False: "not used", None: "not answered yet"}[template.allowed]
    return "of this project", answer, aside


async def _use(on: Here, known: Sequence[Template], name: str, arguments: str = "") -> Done:
    template, typed = named_template(known, name), f"/{name} {arguments}".rstrip()
    if template is None:
        raise Refused(f"There is no template {safe_line(name)}.")
    text = template.with_arguments(arguments)
    if not template.aside and on.tab:  # there is one
        await on.surface.write(text)
        return Done()
    if template.waits:
        on.surface.give_back(typed)
        raise Refused(f"This project's side question waits for you to allow it: /templates allow {name}.")
    return await ask(on, SideQuestion(text, typed, template.aside))


async def _text(template: Template) -> Done:
    return Done(report=Report(f"/{template.name}", "Template", text=template.text))


async def _answer(on: Here, name: str, known: Sequence[Template], *, allowed: bool) -> Done:
    template = next((each for each in known if each.name == name and each.of_project), None)
    if template is None:
        raise Refused(f"This project has no template {safe_line(name)}.")
    if allowed:
        await carry_out(_text(template), on.surface)
        await on.surface.ask(Question("Allow this template to be sent unread?", "Allow it"))
    return Done(await answer_template(template, on.tabs.store, allowed=allowed))


async def answer_template(template: Template, store: Database, *, allowed: bool) -> str:
    """Keep the answer about a template as it was read; return what holds now."""
    await answer_about(template, store, allowed=allowed)
    return f"{'Allowed to be sent unread' if allowed else 'Not used'}, until the file changes."
