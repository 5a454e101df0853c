"""Logging in and out, with real agent processes: the login, the same prompt after it, and what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catena_acp.agents.agent import (
    TerminalLogin,
    Variable,
    offered_methods,
    terminal_login,
    variables_of,
)
from catena_acp.agents.catalog import catalog, login_hint
from catena_acp.continuity.conversation_events import (
    Doing,
    DoingChanged,
    MessageAdded,
    PromptReturned,
    TurnEnded,
)
from catena_acp.conversation.access.logins import UnansweredPrompt
from catena_acp.errors import AgentRefused, GivenUp, LoginNeeded, LogoutNotOffered, StillAtWork
from catena_acp.port.abilities import AuthMethod
from catena_acp.port.port import AgentSpec
from catena_acp.trouble.troubles import Trouble
from catena_store.records import Cause, ContextSource, Kind, LinkState, StopReason
from support.conversations.rehearsed import Desk, World, open_window


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@asynccontextmanager
async def two_tabs(world: World, *flags: str) -> AsyncIterator[Desk]:
    """A conversation, and beside it one whose turn runs meanwhile and comes to its end as if nothing were."""
    honest = world.spec(name="honest", CATENA_REHEARSAL_FAULTS="", CATENA_REHEARSAL_LOG="")
    async with world.client(*flags, specs={"honest": honest}) as desk:
        conversation = await desk.conversations.create(agent=honest, cwd=str(world.project))
        other = Desk(desk.db, desk.conversations, conversation, await open_window(desk.db, conversation.id))
        conversation.subscribe(other.hear)
        await conversation.window(other.window_id).say("say begun; cue go-on; say ended")
        await other.until_told(MessageAdded, lambda news: news.message.kind is Kind.AGENT)
        yield desk
        world.cue("go-on", "honest")
        over = await other.until_told(TurnEnded)
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN
        answers = [row.text for row in await other.branch() if row.kind is Kind.AGENT]
        assert "".join(answers).split() == ["begun", "ended"]
        assert [link.id for link in await other.links()] == [over.turn.link_id]


async def run(login: TerminalLogin) -> int:
    process = await asyncio.create_subprocess_exec(
        *login.argv,
        env=login.env,
        cwd=login.cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
    )
    return await process.wait()


def heard(world: World) -> list[str]:
    return [entry["method"] for entry in world.requests() if entry.get("method")]


async def test_r06_after_the_agents_own_login_the_same_prompt_goes_out_in_the_same_tab(world: World) -> None:
    async with two_tabs(world, "--auth=required") as desk:
        over = await desk.say("say hello")
        assert over.problem is not None and over.problem.trouble is Trouble.LOGIN_NEEDED
        (method,) = await desk.conversation.logins.methods(desk.window)
        assert (method.name, method.kind) == ("Pretend to log in", "agent")

        await desk.conversation.logins.log_in(desk.window, method.id)
        owed = await desk.conversation.logins.owed(desk.window)
        assert owed == UnansweredPrompt("say hello", begun=False)
        assert owed.returned
        again = await desk.say(owed.returned)

        assert again.turn is not None and again.turn.stop_reason is StopReason.END_TURN
        assert await desk.conversation.logins.owed(desk.window) is None
        refused = next(news for news in desk.told if isinstance(news, MessageAdded))
        assert [row.id for row in await desk.branch() if row.kind is Kind.USER] == [refused.message.id]
        assert len({entry["pid"] for entry in world.requests("initialize")}) == 1
    methods = heard(world)
    assert methods.index("authenticate") < methods.index("session/prompt")
    assert [entry["params"] for entry in world.requests("authenticate")] == [{"methodId": "rehearsal-login"}]
    assert world.prompts() == [["say hello"]]


async def test_m07_a_login_in_the_middle_of_a_conversation_keeps_its_session_and_what_that_knows(
    world: World,
) -> None:
    async with two_tabs(world) as desk:
        await desk.say("say canary-one")
        before = await desk.links()
        world.fail({"prompt": {"login": True, "times": 1}})
        over = await desk.say("echo")
        assert over.problem is not None and over.problem.trouble is Trouble.LOGIN_NEEDED

        await desk.conversation.logins.log_in(desk.window, "rehearsal-login")
        assert await desk.conversation.logins.owed(desk.window) == UnansweredPrompt(None, begun=False)
        await desk.window.retry()
        await desk.window.wait_idle()

        first, refused, again = await desk.turns()
        assert refused.prompt_id == again.prompt_id
        assert (again.how, again.stop_reason) == (ContextSource.CONTINUED, StopReason.END_TURN)
        assert [(link.id, link.state) for link in await desk.links()] == [
            (link.id, link.state) for link in before
        ]
        assert {first.link_id, again.link_id} == {before[0].id}
        assert "canary-one" in (await desk.branch())[-1].text
    assert world.prompts()[-1] == ["echo"]


async def test_r06_a_login_in_the_terminal_is_that_of_this_agent_and_the_next_prompt_resumes_the_session(
    world: World,
) -> None:
    async with two_tabs(world, "--auth=terminal") as desk:
        await desk.say("say canary-one")
        (method,) = await desk.conversation.logins.methods(desk.window)
        assert (method.name, method.kind) == ("Log in, in the terminal", "terminal")
        login = await desk.conversation.logins.terminal(desk.window, method.id)
        assert login.argv[-1] == "--login" and login.cwd == str(world.project)
        assert await run(login) == 0
        await desk.conversation.logins.logged_in(desk.window)
        owed = await desk.conversation.logins.owed(desk.window)
        assert owed is not None and owed.returned == "say canary-one"
        await desk.say(owed.returned)

        # The login ends once more, in the middle of the conversation.
        world.fail({"prompt": {"login": True, "times": 1}})
        await desk.say("echo")
        assert await run(await desk.conversation.logins.terminal(desk.window, method.id)) == 0
        await desk.conversation.logins.logged_in(desk.window)
        await desk.window.retry()
        await desk.window.wait_idle()

        (link,) = await desk.links()
        last = (await desk.turns())[-1]
        assert (last.how, last.link_id, last.prior_context) == (ContextSource.RESUMED, link.id, None)
        assert "canary-one" in (await desk.branch())[-1].text
    prompts = world.requests("session/prompt")
    assert {entry["session"] for entry in prompts} == {link.session_id}
    assert len({entry["pid"] for entry in prompts}) == 2
    assert not world.requests("authenticate")


async def test_r06_a_prompt_that_wanted_a_login_still_goes_out_after_one_in_the_clients_next_life(
    world: World,
) -> None:
    async with world.client() as before:
        await before.say("say canary-one")
        world.fail({"prompt": {"login": True, "times": 1}})
        await before.say("echo")
        world.fail({})
    async with world.client(resume=before) as desk:
        assert await desk.conversation.logins.owed(desk.window) == UnansweredPrompt(None, begun=False)
        await desk.conversation.logins.log_in(desk.window, "rehearsal-login")
        await desk.window.retry()
        await desk.window.wait_idle()
        *_, refused, again = await desk.turns()
        assert (again.prompt_id, again.how) == (refused.prompt_id, ContextSource.RESUMED)
        assert "canary-one" in (await desk.branch())[-1].text
        assert await desk.conversation.logins.owed(desk.window) is None


async def test_r19_a_prompt_that_was_answered_in_part_is_not_sent_again_by_itself(world: World) -> None:
    async with world.client() as desk:
        await desk.say("say partly; login")
        assert await desk.conversation.logins.owed(desk.window) == UnansweredPrompt(None, begun=True)
        await desk.conversation.logins.log_in(desk.window, "rehearsal-login")
        await desk.say("say something else")
        assert await desk.conversation.logins.owed(desk.window) is None
    assert len(world.prompts()) == 2


async def test_a_login_that_waits_can_be_given_up_and_begun_again(world: World) -> None:
    world.fail({"authenticate": {"silent": True, "times": 1}})
    async with two_tabs(world, "--auth=required") as desk:
        login = asyncio.ensure_future(desk.conversation.logins.log_in(desk.window, "rehearsal-login"))
        await desk.until_told(DoingChanged, lambda news: news.doing is Doing.LOGGING_IN)
        await desk.window.say("say meanwhile")
        await world.heard("authenticate")
        await desk.window.stop()
        with pytest.raises(GivenUp):
            await login
        returned = await desk.until_told(PromptReturned)
        assert returned.text == "say meanwhile"
        await desk.window.wait_idle()
        assert desk.window.doing is Doing.IDLE
        assert not world.prompts()

        await desk.conversation.logins.log_in(desk.window, "rehearsal-login")
        over = await desk.say("say now")
        assert over.turn is not None and over.turn.stop_reason is StopReason.END_TURN


async def test_a_prompt_said_while_a_login_waits_goes_out_after_it(world: World) -> None:
    world.fail({"authenticate": {"cue": "go-on"}})
    async with world.client("--auth=required") as desk:
        login = asyncio.ensure_future(desk.conversation.logins.log_in(desk.window, "rehearsal-login"))
        await desk.until_told(DoingChanged, lambda news: news.doing is Doing.LOGGING_IN)
        saying = asyncio.ensure_future(desk.say("say after all"))
        await desk.until_told(MessageAdded)
        world.cue("go-on")
        over = await saying
        await login
        assert over.problem is None
    assert world.prompts() == [["say after all"]]


async def test_a_login_that_the_agent_refuses_is_told_in_its_words_and_changes_nothing(world: World) -> None:
    async with two_tabs(world, "--auth=required") as desk:
        await desk.say("say one")
        with pytest.raises(AgentRefused, match="no such login method"):
            await desk.conversation.logins.log_in(desk.window, "another")
        assert await desk.conversation.logins.owed(desk.window) == UnansweredPrompt("say one", begun=False)
        assert (await desk.stored_window()).draft == "say one"
        assert desk.window.doing is Doing.IDLE


async def test_r06_an_agent_that_wants_a_login_before_it_shakes_hands_still_has_its_terminal_login(
    world: World,
) -> None:
    world.fail({"initialize": {"login": True, "times": 2}})
    async with two_tabs(world, "--auth=terminal") as desk:
        over = await desk.say("say hello")
        assert over.problem is not None and over.problem.trouble is Trouble.LOGIN_NEEDED
        (method,) = await desk.conversation.logins.methods(desk.window)
        assert await run(await desk.conversation.logins.terminal(desk.window, method.id)) == 0
        await desk.conversation.logins.logged_in(desk.window)
        world.fail({})
        over = await desk.say("say hello")
        assert over.problem is None
    assert world.prompts() == [["say hello"]]


async def test_m08_after_a_logout_the_next_session_knows_nothing_and_the_old_conversation_stays(
    world: World,
) -> None:
    async with two_tabs(world) as desk:
        await desk.say("say canary-old")
        await desk.conversation.logins.log_out(desk.window)
        barrier = (await desk.branch())[-1]
        assert (barrier.barrier, barrier.text) == (True, "logged out")
        over = await desk.say("say hello")
        assert over.problem is not None and over.problem.trouble is Trouble.LOGIN_NEEDED
        await desk.conversation.logins.log_in(desk.window, "rehearsal-login")
        await desk.say("echo")

        turn = (await desk.turns())[-1]
        assert (turn.how, turn.prior_context, turn.stop_reason) == (
            ContextSource.FRESH,
            None,
            StopReason.END_TURN,
        )
        texts = [row.text for row in await desk.branch()]
        assert "canary-old" in texts and "canary-old" not in texts[-1]
        assert len({link.session_id for link in await desk.links()}) == 2
    out = heard(world).index("logout")
    after = [entry for entry in world.requests() if entry.get("method")][out + 1 :]
    assert not any("canary-old" in str(entry) for entry in after)
    old, new = world.requests("session/prompt")
    assert old["pid"] != new["pid"]


async def test_m08_a_logout_is_one_of_the_account_and_every_open_window_of_it_begins_anew(
    world: World,
) -> None:
    async with two_tabs(world) as desk:
        await desk.say("say canary-one")
        conversation = await desk.conversations.create(agent=world.spec(), cwd=str(world.project))
        second = Desk(desk.db, desk.conversations, conversation, await open_window(desk.db, conversation.id))
        conversation.subscribe(second.hear)
        await second.say("say canary-two")
        third = await open_window(desk.db, conversation.id, (await second.stored_window()).leaf_id)
        conversation.window(third)
        nothing_said = await open_window(desk.db, desk.conversation.id)
        desk.conversation.window(nothing_said)

        await desk.conversation.logins.log_out(desk.window)

        for window_id in (second.window_id, third):

            def of_this(news: MessageAdded, window_id: str = window_id) -> bool:
                return news.window_id == window_id and news.message.barrier

            barrier = await second.until_told(MessageAdded, of_this)
            assert barrier.message.text == "logged out"
        await desk.conversation.logins.log_in(desk.window, "rehearsal-login")
        over = await second.say("echo")
        assert over.turn is not None and (over.turn.how, over.turn.prior_context) == (
            ContextSource.FRESH,
            None,
        )
        assert "canary-two" in [row.text for row in await second.branch()]
        assert not any(
            isinstance(news, MessageAdded) and news.window_id == nothing_said for news in desk.told
        )
    assert world.prompts()[-1] == ["echo"]
    assert len({entry["pid"] for entry in world.requests("session/prompt")}) == 3


async def test_m08_a_prompt_said_while_a_logout_is_under_way_takes_nothing_of_before_along(
    world: World,
) -> None:
    async with two_tabs(world) as desk:
        await desk.say("say canary-old")
        world.fail({"logout": {"cue": "go-on"}})
        logout = asyncio.ensure_future(desk.conversation.logins.log_out(desk.window))
        await world.heard("logout")
        await desk.window.say("echo")
        world.cue("go-on")
        await logout
        over = await desk.until_told(TurnEnded, lambda news: news.problem is not None)
        assert over.problem is not None and over.problem.trouble is Trouble.LOGIN_NEEDED
        await desk.conversation.logins.log_in(desk.window, "rehearsal-login")
        await desk.say("echo")
        texts = [row.text for row in await desk.branch() if row.kind in (Kind.SEAM, Kind.USER)]
        assert texts == ["say canary-old", "logged out", "echo"]
    assert world.prompts()[-1] == ["echo"]


async def test_m08_a_logout_is_refused_while_another_conversation_is_at_work_with_the_account(
    world: World,
) -> None:
    async with two_tabs(world) as desk:
        conversation = await desk.conversations.create(agent=world.spec(), cwd=str(world.project))
        second = Desk(desk.db, desk.conversations, conversation, await open_window(desk.db, conversation.id))
        conversation.subscribe(second.hear)
        await conversation.window(second.window_id).say("say begun; hang")
        await second.until_told(MessageAdded, lambda news: news.message.text == "begun")
        with pytest.raises(StillAtWork):
            await desk.conversation.logins.log_out(desk.window)
        await conversation.window(second.window_id).stop()


async def test_an_agent_without_a_logout_is_not_logged_out_and_its_own_way_is_said(world: World) -> None:
    async with two_tabs(world, "--auth=none") as desk:
        await desk.say("say canary-one")
        with pytest.raises(LogoutNotOffered, match="Rehearsal cannot be logged out"):
            await desk.conversation.logins.log_out(desk.window)
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.CONTINUED
        assert not any(row.barrier for row in await desk.branch())


async def test_a_login_leaves_the_turn_of_another_window_alone_and_a_logout_is_refused_meanwhile(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        other = await open_window(desk.db, desk.conversation.id)
        await desk.conversation.window(other).say("say begun; cue go-on; say ended")
        await desk.until_told(
            MessageAdded, lambda news: news.window_id == other and news.message.kind is Kind.AGENT
        )
        with pytest.raises(StillAtWork):
            await desk.conversation.logins.log_out(desk.window)
        with pytest.raises(StillAtWork):
            await desk.conversation.logins.log_in(desk.conversation.window(other), "rehearsal-login")

        await desk.conversation.logins.logged_in(desk.window)
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.RESUMED
        world.cue("go-on")
        ended = await desk.until_told(TurnEnded, lambda news: news.window_id == other)
        assert ended.turn is not None and ended.turn.stop_reason is StopReason.END_TURN
    assert len(world.requests("initialize")) == 2


async def test_a_login_outside_is_held_up_by_no_side_question_and_that_goes_on_in_the_new_process(
    world: World,
) -> None:
    async with world.client() as desk:
        await desk.say("say one")
        aside = await desk.conversation.asides.begin(desk.window)
        async for _ in aside.ask("say aside"):
            pass
        async with asyncio.timeout(10):
            await desk.conversation.logins.logged_in(desk.window)
        over = await desk.say("echo")
        assert over.turn is not None and over.turn.how is ContextSource.RESUMED
        async for _ in aside.ask("echo"):
            pass
        assert "say one" in aside.text and "say aside" in aside.text
        await aside.close()
        assert [link.state for link in await desk.links() if link.cause is Cause.ASIDE] == [
            LinkState.LOST
        ] * 2
    first, asked, second, again = [entry["pid"] for entry in world.requests("session/prompt")]
    assert first == asked != second == again


SPEC = AgentSpec("mine", "Mine", ("my-agent", "--acp"), (("HOME_OF", "mine"), ("SET", "yes")))


@pytest.mark.parametrize(
    ("method", "argv", "env"),
    [
        (AuthMethod("t", "T", None, "terminal", args=("login",)), ("my-agent", "--acp", "login"), {}),
        (AuthMethod("t", "T", None, "terminal", command=("claude", "/login")), ("claude", "/login"), {}),
        (AuthMethod("t", "T", None, "terminal", env=(("SET", "no"),)), ("my-agent", "--acp"), {"SET": "no"}),
    ],
)
def test_w13_a_terminal_login_is_the_named_command_or_the_agents_own_with_its_environment(
    method: AuthMethod, argv: tuple[str, ...], env: dict[str, str]
) -> None:
    login = terminal_login(SPEC, method, "/shop", {"PATH": "/bin", "COLUMNS": "80"})
    assert login == TerminalLogin(argv, {"PATH": "/bin", "HOME_OF": "mine", "SET": "yes", **env}, "/shop")


def test_w13_of_an_environment_login_only_names_are_told_and_whether_they_are_set() -> None:
    method = AuthMethod("e", "E", None, "env_var", variables=("SHELL_KEY", "SET", "UNSET", "EMPTY"))
    assert variables_of(SPEC, method, {"SHELL_KEY": "secret", "EMPTY": ""}) == (
        Variable("SHELL_KEY", True),
        Variable("SET", True),
        Variable("UNSET", False),
        Variable("EMPTY", False),
    )


@pytest.mark.parametrize("data", [None, "log in", {"authMethods": 7}, {"authMethods": [{"id": "a"}, 3]}])
def test_a_refusal_before_the_handshake_names_no_method_that_the_agent_itself_would_have_to_run(
    data: object,
) -> None:
    assert offered_methods(LoginNeeded(-32000, "Authentication required", data)) == ()


def test_w13_of_every_public_agent_it_is_known_how_else_to_log_in() -> None:
    assert all(login_hint(entry.name) for entry in catalog() if entry.name != "rehearsal")
    assert login_hint("command:my-agent") is None
