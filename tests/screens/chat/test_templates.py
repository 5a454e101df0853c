"""Prompt templates: where they come from, what they become, and that they are read before they are sent."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from catena.screens.aside.screen import AsideScreen
from catena.screens.chat.commands.table import SLASH_COMMANDS
from catena.screens.chat.prompt import name_reading
from catena.screens.settings import templates as sheet
from catena.settings import templates
from catena.settings.templates import Template, find_templates, named_template, used_templates
from catena.widgets import composer
from catena.widgets.completion import CompletionList, completions
from catena_acp.port.session_events import AgentCommand
from support.clients.command_line import Catena, run
from support.screen.pilot import at_the_screen


@pytest.fixture(autouse=True)
def _templates_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_reading, "_PATIENCE", 60)  # a key waits for them, however slow the machine is


def written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "arguments", "becomes"),
    [
        ("Fix $1 in $2, $ARGUMENTS.", "'a b' c", "Fix a b in c, 'a b' c."),
        ("$1|$9|$12|$ARGUMENTSX", "$2 x", "$2||$12|$ARGUMENTSX"),
        ("Plain.", "and more", "Plain.\n\nand more"),
        ("$1", "it's", "it's"),
        ("!rm -rf .", "", " !rm -rf ."),
        ("```console\n$ ls\n```\n!rm", "", " ```console\n$ ls\n```\n!rm"),
        ("$1", "/quit", " /quit"),
    ],
)
def test_w30_arguments_are_filled_in_and_nothing_becomes_a_command(
    text: str, arguments: str, becomes: str
) -> None:
    assert Template("t", text).with_arguments(arguments) == becomes


def test_w30_a_project_has_no_templates_outside_of_it_and_none_that_control_the_terminal(
    tmp_path: Path,
) -> None:
    own, project = tmp_path / "config", tmp_path / "project"
    secret = written(tmp_path / "home", "secret", "secret")
    theirs = project / ".catena/prompts"
    written(
        theirs, "review", '---\ndescription: "Look \x1b[31mred"\nargument-hint: FILE\n---\nLook\x1b at $1.\n'
    )
    written(theirs, "large", "x" * 70_000)
    (theirs / "stolen.md").symlink_to(secret)
    (theirs / "bytes.md").write_bytes(b"\xff\xfe")
    (theirs / "folder.md").mkdir()
    written(own / "prompts", "review", "Mine.")
    (own / "prompts/linked.md").symlink_to(secret)

    found = find_templates(own, str(project))

    assert [(each.name, each.of_project) for each in found if not each.shipped] == [
        ("review", True),
        ("linked", False),
        ("review", False),
    ]
    first = named_template(found, "review")
    assert first is not None
    assert (first.text, first.hint) == ("Look at $1.", "FILE")
    assert "\x1b" not in first.description


def test_w30_a_clash_is_shown_and_ours_come_first(tmp_path: Path) -> None:
    offered = (
        Template("clear", "x"),
        Template("review", "x", "theirs", "FILE", of_project=True),
        Template("review", "x", "mine"),
    )
    rows = completions("/", SLASH_COMMANDS, (AgentCommand("review", "of the agent", None),), offered)

    reviews = [(row.label, row.detail, row.note, row.dim) for row in rows if row.label.startswith("/review")]
    assert reviews == [
        ("/review FILE", "project's prompt", "theirs", False),
        ("/review", "your prompt", "hidden: the project has a template of that name", True),
        ("/review", "from the agent", "hidden: the project has a template of that name", True),
    ]
    (ours,) = (row.note for row in rows if row.detail == "your prompt" and row.label == "/clear")
    assert ours == "hidden: Catena has a command of that name"


async def test_w30_what_another_command_hides_is_passed_over_and_not_taken_by_a_click(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    written(tmp_path / "config/prompts", "clear", "say no")
    written(tmp_path / "config/prompts", "clearly", "say yes")
    async with at_the_screen(str(tmp_path)) as person:
        await person.type("/cle")
        await person.sees("hidden: Catena has a command of that name", "/clearly")
        completion = person.app.screen.query_one(CompletionList)
        at = next(at for at, row in enumerate(completion.rows) if row.dim)
        await person.pilot.click(CompletionList, offset=(4, at))
        assert (completion.cursor, person.draft) == (0, "/cle")
        for _ in completion.rows:
            await person.press("down")
            assert completion.chosen is not None and not completion.chosen.dim


async def test_w30_a_template_is_read_in_the_composer_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    written(tmp_path / ".catena/prompts", "repeat", "---\ndescription: Says it again\n---\nsay $1 again")
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        await person.type("/repe")
        await person.sees("Says it again")
        await person.press("escape", "ctrl+c")
        await person.type("/repeat something")
        await person.until(lambda: person.area.prompt.templates.known, "the templates")
        with monkeypatch.context() as patched:
            patched.setattr(composer, "_NOTICED", 60.0)  # seconds: two keys are far apart on a slow machine
            await person.press("enter", "enter")
            await person.sees("Press Enter again to send it.")
        assert person.draft == "say something again"
        assert not person.tab.busy
        await person.type(" and again")
        await person.press("enter")
        await person.sees("  something again and again")
        assert person.draft == ""


async def test_w30_keys_wait_for_templates_from_afar_and_a_folder_that_hangs_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    written(tmp_path / "config/prompts", "repeat", "say $1 again")
    read = templates.find_templates
    arrived = threading.Event()

    def from_afar(own: Path, project: str) -> tuple[Template, ...]:
        arrived.wait(50)
        return read(own, project)

    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        monkeypatch.setattr(name_reading, "_PATIENCE", 0.2)
        monkeypatch.setattr(templates, "find_templates", from_afar)
        try:
            await person.type("/repeat something")
            await person.press("enter")
            await person.sees("Reading your templates is slow. Press Enter again")
            assert person.draft == "/repeat something" and not person.tab.busy
        finally:
            arrived.set()
        await person.until(lambda: person.area.prompt.templates.known, "the templates")
        await person.sees_no("Reading your templates is slow")
        await person.press("enter")
        await person.until(lambda: person.draft == "say something again", "the text")


async def test_w30_templates_are_listed_and_a_project_s_is_sent_unread_only_where_it_was_allowed(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    written(catena.config / "prompts", "mine", "---\ndescription: Says hello\n---\nsay hello $1")
    theirs = written(catena.project / ".catena/prompts", "theirs", "say $ARGUMENTS\x1b")
    assert run(catena, "/mine you").out == "hello you\n"
    refused = run(catena, "/theirs x")
    assert (refused.status, refused.out) == (2, "")
    assert "waits for you to allow it: /templates" in refused.err

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CATENA_DATA_DIR", str(catena.data))
        patched.setenv("CATENA_CONFIG_DIR", str(catena.config))
        async with at_the_screen(str(catena.project)) as person:
            await person.idle()
            await person.press("ctrl+p")
            await person.type("hello")
            await person.sees("/mine", "Says hello")
            await person.press("escape")
            await person.back()
            await person.type("/templates")
            await person.press("enter")
            await person.sees("This project (.catena/prompts)", "/theirs", "waits for you to allow it")
            await person.press("enter")
            await person.sees("say $ARGUMENTS")
            await person.press("escape")
            await person.sees("allow to be sent unread")
            await person.press("a")
            await person.sees("Allowed to be sent unread, until the file changes.")
            await person.press("escape")
            await person.back()

    assert run(catena, "/theirs now").out == "now\n"
    theirs.write_text("say something else")
    assert run(catena, "/theirs x").status == 2


def test_u08_what_is_shipped_stands_below_the_person_s_and_the_project_s(tmp_path: Path) -> None:
    own, project = tmp_path / "config", tmp_path / "project"

    def used(*, allowed: bool | None = None) -> dict[str, Template]:
        found = find_templates(own, str(project))
        return used_templates([replace(each, allowed=allowed) if each.of_project else each for each in found])

    assert {name: (each.shipped, each.aside, each.hint) for name, each in used().items()} == {
        "pr": (True, "pull-request", "[WISH]"),
        "summary": (True, "summary", "[WISH]"),
    }
    written(own / "prompts", "pr", "Mine.")
    written(project / ".catena/prompts", "pr", "Theirs.")
    assert used()["pr"].text == "Theirs." and used()["summary"].shipped
    assert used(allowed=False)["pr"].text == "Mine."


@pytest.mark.parametrize(
    ("line", "aside"),
    [
        ("side-question: notes", "notes"),
        ("side-question: true", "ask"),
        ("side-question: ../notes", "ask"),
        ("side-question: false", ""),
        ("side-question:", ""),
        ("description: side-question", ""),
    ],
)
def test_u08_a_template_is_a_side_question_if_it_says_so_and_names_no_file_elsewhere(
    tmp_path: Path, line: str, aside: str
) -> None:
    written(tmp_path / "prompts", "ask", f"---\n{line}\n---\nsay it")
    template = named_template(find_templates(tmp_path, str(tmp_path)), "ask")
    assert template is not None and (template.aside, template.text) == (aside, "say it")


async def test_u08_a_side_question_of_a_template_is_asked_at_once_and_its_answer_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    written(tmp_path / "config/prompts", "risks", "---\nside-question: risky\n---\nsay the risks of $1")
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        await person.say("/risks this")
        aside = await person.sees_dialog(AsideScreen)
        await person.sees("  the risks of this")
        await person.until(lambda: aside._since is None, "the end of the answer")
        await person.press("s")
        await person.sees("Saved the answer as risky.md")
        await person.press("escape")
        await person.back()
        assert person.draft == "" and "the risks" not in person.text
        for typed in ("/risk", "/templates risks those"):
            person.composer.put("")
            await person.type(typed)
            await person.until(lambda: person.area.prompt.templates.known, "the templates")
            await person.press("enter")
            if typed == "/risk":
                await person.sees_dialog(AsideScreen)
            await person.sees("  the risks of", *(["those"] if "those" in typed else []))
            await person.press("escape")
            await person.back()
        await person.say("/inputs")
        await person.sees("/risks this", "/risks those")
    assert (tmp_path / "risky.md").read_text() == "the risks of this\n"


async def test_u08_the_palette_asks_what_is_shipped_and_a_wrong_letter_finds_its_name(tmp_path: Path) -> None:
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        await person.press("ctrl+p")
        await person.type("summ")
        await person.sees("/summary", "summarise the conversation")
        await person.press("tab")
        await person.back()
        await person.until(lambda: person.draft == "/summary ", "the name to be completed")
        person.composer.put("")
        await person.press("ctrl+p")
        await person.type("pull request")
        await person.sees("/pr")
        await person.press("enter")
        await person.sees_dialog(AsideScreen)
        await person.sees("Draft the text of a pull request")
        await person.press("escape")
        await person.back()
        await person.type("/summ")
        await person.sees("/summary [WISH]", "Catena's side question")
        await person.press("enter")
        await person.sees_dialog(AsideScreen)
        await person.sees("Summarise this conversation")
        await person.press("escape")
        await person.back()
        await person.say("say hello")
        await person.idle()
        await person.say("/summaries")
        await person.sees("Did you mean /summary?")


async def test_u08_a_side_question_of_a_project_is_not_asked_before_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    written(
        tmp_path / ".catena/prompts", "summary", "---\nside-question: summary\n---\nsay theirs $ARGUMENTS"
    )
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        await person.say("/summary now")
        await person.sees("waits for you to allow it: /templates allow summary")
        await person.until(lambda: person.draft == "/summary now", "what was typed")
        person.composer.put("")
        await person.say("/templates")
        await person.sees("side question", "hidden by the project's")
        await person.press("a")
        await person.sees("Allowed to be sent unread, until the file changes.")
        await person.press("escape")
        await person.back()
        await person.say("/summary now")
        await person.sees_dialog(AsideScreen)
        await person.sees("  theirs now")


async def test_u08_a_shipped_template_is_changed_in_a_copy_of_the_person_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATENA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CATENA_CONFIG_DIR", str(tmp_path / "config"))
    shipped = find_templates(tmp_path / "config", str(tmp_path))[0]
    edited: list[str] = []

    def change(file: Path) -> None:
        edited.append(str(file))
        file.write_text(file.read_text().replace(shipped.text, "") + f"say edit {len(edited)}. ")

    async def edit(app: object, path: str, line: int, environment: object) -> None:
        change(Path(path))

    monkeypatch.setattr(sheet, "edit_file", edit)
    copy = tmp_path / "config/prompts/pr.md"
    async with at_the_screen(str(tmp_path)) as person:
        await person.idle()
        await person.say("/templates")
        await person.sees("Shipped with Catena", "Put a Markdown file into .catena/prompts")
        await person.press("e")
        await person.sees("Your own copy: ", "hidden by yours")
        assert edited == [str(copy)]
        await person.press("e")
        await person.until(lambda: len(edited) == 2, "the second edit, of the copy")
        assert edited[1] == str(copy)
        await person.press("escape")
        await person.back()
        await person.say("/pr")
        await person.sees_dialog(AsideScreen)
        await person.sees("  edit 1.")
    assert copy.read_text().startswith("---\ndescription: draft a pull request")
    assert shipped in find_templates(tmp_path / "config", str(tmp_path)), "the package stays as it is"


def test_u08_catena_run_asks_no_side_question_and_leaves_a_name_that_is_shipped_to_the_agent(
    tmp_path: Path,
) -> None:
    catena = Catena(tmp_path)
    written(catena.config / "prompts", "risks", "---\nside-question: true\n---\nsay risks")
    refused = run(catena, "/risks")
    assert (refused.status, refused.out) == (2, "") and "is a side question" in refused.err
    assert "/summary" in run(catena, "/summary").out


async def test_w30_templates_that_could_not_be_read_are_read_again_at_the_next_slash() -> None:
    read: list[str] = []

    async def fail_once(directory: str) -> tuple[Template, ...]:
        read.append(directory)
        if len(read) == 1:
            raise OSError
        return ()

    reading = name_reading.TemplateReading(fail_once, lambda: None)
    for text in ("/", "", "/"):
        reading.typed(text, "shop")
        assert await reading.come()
        assert not (reading.expected or reading.late)
    assert read == ["shop", "shop"]
