"""Exports as HTML: one page, of which nothing is anybody's but ours."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from catena.rendering.html import HtmlRenderer
from catena_store.records import Kind, Message, MessageState
from support.storage.exports import HOSTILE, a_head, a_message, a_part

_CLASSES = frozenset(
    re.findall(
        r"\w+",
        """prompt said note below failed versions end turning above answer plain cut address code language kw str num
        com def center right work line mark verb object plus minus exit failing time out named thinking diff number sign
        gap add plan done now then seam notice trouble task""",
    )
)
_ATTRIBUTES = {
    "html": {"lang"},
    "meta": {"charset", "name", "content", "http-equiv"},
    "main": {"data-here"},
    "section": {"id", "data-above"},
    "a": {"href", "rel", "class", "title"},
    "ol": {"start"},
    "details": {"class", "open"},
}
_ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        """html head meta title style body main header h1 h2 h3 h4 p b section div span a details summary pre code mark
        ul ol li blockquote hr table thead tbody tr th td strong em s br footer script""",
    )
)
_VOID = frozenset({"meta", "br", "hr"})


class Page(HTMLParser):
    """A page as a browser reads it: every element that nobody but us may write, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.foreign: list[str] = []
        self.open: list[str] = []
        self.counts: dict[str, int] = {}
        self.text: list[str] = []
        self.style = self.script = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag not in _ELEMENTS:
            self.foreign.append(tag)
        for name, value in attrs:
            if name not in _ATTRIBUTES.get(tag, {"class"}):
                self.foreign.append(f"{tag} {name}")
            if name == "class" and not {*(value or "").split()} <= _CLASSES:
                self.foreign.append(f"class {value}")
            if name == "href" and not re.match(
                r"(?:https?://|mailto:|ftp://|#b\d+\Z)", value or "", re.IGNORECASE
            ):
                self.foreign.append(f"href {value}")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.foreign.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        match self.open[-1:]:
            case ["style"]:
                self.style += data
            case ["script"]:
                self.script += data
            case _:
                self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.foreign.append(f"comment {data}")

    def handle_pi(self, data: str) -> None:
        self.foreign.append(f"instruction {data}")

    def unknown_decl(self, data: str) -> None:
        self.foreign.append(f"declaration {data}")


def drawn(*messages: Message, **head: Any) -> str:
    renderer = HtmlRenderer()
    return "".join((renderer.begin(a_head(**head)), renderer.part(a_part(messages)), renderer.end()))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([*Kind, Kind.AGENT]),
            HOSTILE,
            st.sampled_from([MessageState.FINAL, MessageState.REFUSED, MessageState.INTERRUPTED]),
        ),
        max_size=5,
    ),
    HOSTILE,
)
def test_h15_nothing_that_anybody_wrote_becomes_an_element_an_attribute_or_a_script(
    said: list[tuple[Kind, str, MessageState]], words: str
) -> None:
    renderer = HtmlRenderer()
    rows = [a_message(kind, text, state=state) for kind, text, state in said]
    page = Page(
        renderer.begin(a_head(title=words, agent=words, directory=words))
        + renderer.part(a_part(rows, 1, above=0, versions=(1, 2), fork=words))
        + renderer.end()
    )
    ours = HtmlRenderer()
    assert (page.foreign, page.open) == ([], [])
    assert (page.style, page.script) == (ours._style, ours._script)
    assert (page.counts["script"], page.counts["style"], page.counts["section"]) == (1, 1, 1)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "".join(page.text))


def test_h15_the_page_says_below_an_answer_how_long_its_turn_took_if_that_was_long() -> None:
    answer = a_message(Kind.AGENT, "Done.", data={})
    part = a_part([replace(answer, took=134.0), replace(answer, took=4.0)])
    assert re.findall('class="took">([^<]*)', HtmlRenderer().part(part)) == ["2 min 14 s"]


def test_h15_the_page_forbids_everything_but_its_own_style_and_script_and_loads_nothing() -> None:
    page = drawn(a_message(Kind.USER, "hello", data={}))
    ours = HtmlRenderer()

    def digest(source: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"

    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].replace("&#x27;", "'") == (
        f"default-src 'none'; style-src {digest(ours._style)}; script-src {digest(ours._script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert not re.search(r"\b(?:src|srcset|style|on\w+)=|@import|url\(", page)


def test_h15_the_page_looks_as_the_screen_does() -> None:
    edit: dict[str, Any] = {
        "kind": "edit",
        "status": "completed",
        "locations": [{"path": "/shop/auth/views.py"}],
    }
    edit["content"] = [
        {"type": "diff", "path": "/shop/auth/views.py", "old": "a = get(1)\n", "new": "a = post(1)\n"}
    ]
    failed: dict[str, Any] = {
        "kind": "execute",
        "status": "failed",
        "raw_input": {"command": "pytest"},
        "raw_output": {"exit_code": 1},
    }
    failed["content"] = [{"type": "text", "text": "E  assert"}]
    page = drawn(
        a_message(Kind.SEAM, "rate limit · 3 replayed", data={"how": "told", "told_total": 3}),
        a_message(Kind.USER, "Find <out>\nwhy", data={"attachments": [{"name": "a.png"}]}),
        a_message(Kind.TOOL, data=edit),
        a_message(Kind.TOOL, data=failed),
        a_message(Kind.AGENT, "## So\n\nof `next`, see [it](https://x.org) or [that](auth/views.py):\n\n"
                  "```python\nif 1: 'x'\n```\n\n| a | b |\n|:-:|---|\n| 1 | 2 |\n\n- [x] one\n- two\n\n3. three"),
        a_message(Kind.PLAN, data={"entries": [{"text": "do", "status": "in_progress"}]}),
        directory="/shop",
    )  # fmt: skip
    assert '<div class="said"><b>Find &lt;out&gt;</b>why</div>' in page
    assert '<span class="below">+ a.png</span>' in page
    assert '<details class="work" open><summary>' in page and "auth/views.py" in page
    assert (
        '<div class="cut"><span class="number">1</span><span class="sign">−</span><span>a = <mark>get</mark>(1)'
        in page
    )
    assert '<span class="plus">+1</span><span class="minus">−1</span>' in page
    assert '<details class="work failing" open>' in page and '<span class="exit">exit 1</span>' in page
    assert (
        '<h3>So</h3><p>of <code>next</code>, see <a href="https://x.org" rel="noreferrer noopener">it</a>'
        in page
    )
    assert 'that <span class="address">(auth/views.py)</span>' in page
    assert (
        '<span class="language">python</span><code><span class="kw">if</span> <span class="num">1</span>'
        in page
    )
    assert '<th class="center">a</th><th>b</th>' in page
    assert '<li class="task">☑ one</li><li>two</li>' in page and '<ol start="3">' in page
    assert '<p class="seam">rate limit · 3 replayed</p>' in page
    assert '<li class="now">◐ do</li>' in page
    assert (
        "--ground: #fbfaf7" in page and "--ground: #14171b" in page and "prefers-color-scheme: dark" in page
    )


def test_h15_branches_are_linked_so_that_they_are_reached_without_a_script() -> None:
    renderer = HtmlRenderer()
    first = renderer.part(a_part([a_message(Kind.USER, "one", data={})], 1, above=0, versions=(1, 2)))
    second = renderer.part(a_part([a_message(Kind.USER, "two", data={})], 2, above=0, versions=(1, 2)))
    assert '<section id="b1" data-above="0">' in first
    assert '<span class="end">‹</span>1/2<a href="#b2" title="next version">›</a>' in first
    assert '<a href="#b1" title="previous version">‹</a>2/2<span class="end">›</span>' in second
    assert '<a class="above" href="#b0">above</a>' in first


def test_h15_a_text_that_is_too_long_for_markdown_stands_as_it_is() -> None:
    page = drawn(a_message(Kind.AGENT, "[" * 100_000))
    assert f'<p class="plain">{"[" * 100_000}</p>' in page


def test_w07_the_page_marks_a_change_that_was_not_made() -> None:
    edit: dict[str, Any] = {"kind": "edit", "status": "rejected"}
    edit["content"] = [{"type": "diff", "path": "/shop/a<b.py", "old": "a = 1\n", "new": "a = 2\n"}]
    assert '<p class="named">Not made: /shop/a&lt;b.py</p><div class="diff">' in drawn(
        a_message(Kind.TOOL, "", data=edit)
    )
