"""A permission rule is made of a question, and answers the next one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from catena.keys.keymap import KeyMap
from catena.settings.settings import Settings
from catena.widgets.band import BandText
from catena_acp.continuity.conversation_events import PermissionOpened
from catena_acp.permissions.rule import RuleScope, rule_of, rule_text
from support.screen.pilot import Person, at_the_screen


async def asked(person: Person) -> BandText:
    """The question, once the keys are there."""
    await person.until(lambda: person.app.focused is person.area.panels.permission, "the keys to go there")
    await person.taken_in()
    return person.area.panels.permission.query_one(BandText)


async def test_w01_a_rule_is_shown_then_accepted_and_answers_from_then_on(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("edit src/auth/notes.txt")
        await asked(person)
        await person.sees(
            "Always in this project: edits below src/auth/", "← → scope", "Reject with a reason"
        )
        await person.press("left")
        await person.sees("edits of src/auth/notes.txt")
        await person.press("right", "right")
        await person.sees("Always in this project: edits below src/")
        await person.press("left", "left", "left", "right")
        await person.apart()
        await person.press("a")
        await person.idle()
        (rule,) = await person.tab.conversation.rules.listed()
        assert rule_text(rule) == "edits below src/auth/"

        await person.say("edit src/auth/other.txt")
        await person.idle()
        await person.sees("allowed by your rule: edits below src/auth/")

        await person.say("edit src/auth2/other.txt")
        await asked(person)
        assert isinstance(person.tab.asks[0], PermissionOpened)
        await person.apart()
        await person.press("n")
        await person.idle()


async def test_w01_no_rule_is_offered_where_a_request_is_not_certain(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask May I?")
        question = await asked(person)
        assert not any(choice.name == "a" for choice in question.words.choices)
        await person.press("a")
        await person.sees("No rule can allow this: no command given.")
        await person.apart()
        await person.press("n")
        await person.idle()


async def test_w01_the_sheet_of_rules_removes_moves_and_undoes(tmp_path: Path) -> None:
    settings = Settings(
        permission_rules=(rule_of("fetch", "example.org", allow=True, scope=RuleScope.SETTINGS),),
        keys=KeyMap({"rule_undo": ("z",)}),
    )
    async with at_the_screen(str(tmp_path), settings=settings) as person:
        rules = person.tab.conversation.rules
        await rules.add(rule_of("edit", "auth/", allow=True, scope=RuleScope.PROJECT))

        async def holds(*scopes: RuleScope) -> None:
            await person.taken_in()
            async with asyncio.timeout(60):
                while [rule.scope for rule in await rules.listed()] != list(scopes):
                    await person.pilot.pause(0.02)

        await person.say("/permissions")
        await person.sees("Permission rules (2)", "allow edits below auth/", "this project", "settings file")
        await person.press("s")
        await holds(RuleScope.CONVERSATION, RuleScope.SETTINGS)
        await person.sees("Now applies in this conversation. z undoes it.")
        await person.press("d")
        await holds(RuleScope.SETTINGS)
        await person.sees("Permission rules (1)", "Removed: edits below auth/. z undoes it.")
        await person.press("d")
        await person.sees("This rule is in the settings file")
        await person.press("z")
        await holds(RuleScope.CONVERSATION, RuleScope.SETTINGS)
        await person.press("z")
        await holds(RuleScope.PROJECT, RuleScope.SETTINGS)
        await person.press("escape")
        await person.back()


async def test_w01_next_question_goes_to_the_tab_that_asks(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("ask May I?")
        await asked(person)
        asking = person.tab
        await person.new_tab()
        await person.press("f8")
        await person.looks_at(asking)
        await asked(person)
        await person.apart()
        await person.press("n")
        await person.idle()


async def test_w01_a_new_rule_answers_what_is_open_but_not_while_a_reason_is_typed(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.say("edit src/a.txt")
        await asked(person)
        first = person.tab
        rules = first.conversation.rules
        await person.new_tab()
        await person.say("edit src/b.txt")
        await asked(person)
        await person.apart()
        await person.press("r")
        await person.type("because")
        await rules.add(rule_of("edit", "src/", allow=True, scope=RuleScope.PROJECT))
        panes, second = person.area._panes, person.tab
        assert panes is not None
        assert list(panes.reasoned) == [ask.ask_id for ask in second.asks]
        assert await second.conversation.rules.answer_open(lambda: panes.reasoned) == 0

        await person.press("escape")
        await asked(person)
        await person.apart()
        await person.press("a")
        await person.sees("Rule saved for this project. It also answered 1 open request.")
        await person.until(lambda: not first.asks and person.is_over(first), "the first tab to go on")
        await person.idle()


async def test_w01_on_a_short_screen_a_rule_is_offered_where_all_its_words_have_room(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path), size=(120, 14)) as person:
        await person.say("edit src/a.txt")
        await asked(person)
        await person.sees("a Always in this project: edits below src/", "Reject")
        await person.pilot.resize_terminal(36, 14)
        panel = person.area.panels.permission
        await person.until(lambda: panel.rule is None, "the rule to go")
        await person.sees_no("Always in this")
        await person.press("a")
        await person.sees("The screen is too small to show a rule whole.")
        await person.pilot.resize_terminal(120, 14)
        await person.until(lambda: panel.rule is not None, "the rule to come back")
        await person.sees("a Always in this project: edits below src/")
        await person.apart()
        await person.press("a")
        await person.sees("Not all of it is shown.")
        await person.apart()
        await person.press("a")
        await person.idle()
        assert len(await person.tab.conversation.rules.listed()) == 1
