"""What answers leave open, read from their Markdown; and what only looks like it."""

from __future__ import annotations

import pytest

from catena_acp.conversation.inspection.todos import left_open

OPEN = {
    "boxes": ("Here:\n\n- [ ] write the test\n- [x] mend the form\n", ["write the test", "✓mend the form"]),
    "numbered boxes": ("1. [ ] first\n2. [X] second", ["first", "✓second"]),
    "nested boxes": ("- [ ] outer\n  - [ ] inner", ["outer", "inner"]),
    "a heading and bullets": ("Done.\n\n## Next steps\n\n- run it\n- ship it", ["run it", "ship it"]),
    "a bold line and numbers": ("**Next steps:**\n1. run it\n2) ship it", ["run it", "ship it"]),
    "a plain line with a colon": ("TODO:\n* run it", ["run it"]),
    "what remains": ("### Remaining work\n- docs\n", ["docs"]),
    "still to do": ("Still to do:\n\n- docs", ["docs"]),
    "what is left": ("What's left:\n- docs", ["docs"]),
    "words of introduction": ("## Next steps\nYou could now do this:\n\n- run it", ["run it"]),
    "only the outer items of a list": (
        "## Next steps\n- run it\n  - with care\n- ship it",
        ["run it", "ship it"],
    ),
    "marks inside": ("Next steps:\n- **Run** `it` and [ship](http://x/y) it", ["Run it and ship it"]),
    "an item of several lines": (
        "Next steps:\n- run it\n  on two machines\n- ship it",
        ["run it", "ship it"],
    ),
    "a struck one in the list": ("Next steps:\n- ~~run it~~\n- ship it", ["ship it"]),
    "one marked as done": ("Next steps:\n- run it ✅\n- ship it", ["ship it"]),
}

NOT_OPEN = {
    "an ordinary list": "I changed three things:\n\n- the form\n- the view\n- the test",
    "all ticked": "- [x] one\n- [X] two",
    "boxes in code": "```markdown\n- [ ] not a task\n```",
    "boxes in an unclosed block of code": "~~~\n- [ ] not a task\n```\n- [ ] nor this",
    "a quotation": "> ## Next steps\n> - [ ] someone else's\n",
    "an index in brackets": "- [0] first\n- [] second\n- [ ]third",
    "a link": "- [x](http://example.org)\n- [ ](y)",
    "next steps within a sentence": "The next steps: are easy.\n\n- not\n- these",
    "another heading with those words": "## How next steps are found\n- not\n- these",
    "remaining, of something else": "Remaining budget:\n- 3 tokens",
    "next steps in prose": "## Next steps\nNone, we are done.\n\n- this is a closing remark's list",
    "a list behind the section's end": "## Next steps\n\n## Files\n- a.py",
    "a list that says none": "## Next steps\n- None.",
    "a todo comment": "I left a TODO: in the code.",
    "nothing": "",
}


def shown(*answers: str) -> list[str]:
    return [("✓" if todo.done else "") + todo.text for todo in left_open(answers)]


@pytest.mark.parametrize("case", OPEN)
def test_m11_open_work_is_found_in(case: str) -> None:
    answer, expected = OPEN[case]
    assert shown(answer) == expected


@pytest.mark.parametrize("case", NOT_OPEN)
def test_m11_no_open_work_is_seen_in(case: str) -> None:
    assert shown(NOT_OPEN[case]) == []


def test_m11_a_box_that_a_later_answer_ticks_is_done_whatever_its_marks() -> None:
    first = "- [ ] write the `test`\n- [ ] ship it"
    assert shown(first, "- [x] **Write** the test.") == ["✓write the test", "ship it"]
    assert shown(first, "- [x] write the test\n- [x] ship it") == []


def test_m11_a_box_that_is_opened_again_is_open() -> None:
    assert shown("- [ ] ship it", "- [x] ship it", "- [ ] ship it") == ["ship it"]


def test_m11_a_box_stays_open_while_answers_speak_of_other_things() -> None:
    assert shown("- [ ] ship it", "The form was wrong.", "## Files\n- a.py") == ["ship it"]


def test_m11_a_new_list_of_next_steps_takes_the_place_of_the_one_before() -> None:
    assert shown("Next steps:\n- run it", "Next steps:\n- ship it") == ["ship it"]
    assert shown("- [ ] a box\n\nNext steps:\n- run it", "Next steps:\n- ship it") == ["a box", "ship it"]


def test_m11_a_next_step_that_a_later_answer_marks_as_done_is_done() -> None:
    first = "Next steps:\n- run it\n- ship it"
    for tick in ("- [x] run it", "- ✅ Run it", "- run it ✓", "- ~~run it~~"):
        assert shown(first, tick) == ["✓run it", "ship it"], tick


def test_m11_a_thousand_bullets_are_not_a_thousand_todos() -> None:
    answer = "Next steps:\n" + "\n".join(f"- step {number} {'x' * 1000}" for number in range(1000))
    todos = left_open([answer])
    assert len(todos) == 50
    assert max(len(todo.text) for todo in todos) == 300
