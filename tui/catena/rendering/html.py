"""Exports as HTML: one file that looks as the screen does, opens offline and runs nothing but its own few lines.

Whatever anybody wrote is escaped here, text by text; no element and no attribute comes from anywhere else. A policy in
the page forbids the browser everything that this module did not write.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import fields
from html import escape
from importlib.resources import files
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from catena.rendering.contents import ExportPart, Head
from catena.text.call_text import (
    change_of,
    diff_label,
    ending_of,
    glyph_of,
    lineless_words,
    locations_of,
    notes_of,
    object_of,
    raw_of,
    size_of,
    texts_of,
    verb_of,
)
from catena.text.formats import duration_text, turn_text
from catena.text.safe_text import safe, safe_line
from catena.themes.colours import DARK, LIGHT, SHIPPED, Grounds, ThemeColours
from catena.transcript.drawing.highlight import MAX_CHARACTERS, MAX_LINES, lex
from catena.transcript.markdown.markdown import language_of, parser, references_in
from catena.transcript.markdown.splitter import split
from catena.transcript.messages.diff import changed_words
from catena_acp.continuity.tool_calls import NestedRow, nested
from catena_acp.continuity.wording.counts import counted
from catena_acp.diff import DiffLine
from catena_acp.port.elicitation.requests import address_of
from catena_acp.spoken.blocks import Diff
from catena_acp.spoken.call import Call
from catena_acp.spoken.spoken import (
    Answer,
    Divider,
    Ended,
    Notice,
    Plan,
    Prompt,
    Seam,
    Thought,
    Unknown,
    spoken_of,
)
from catena_store.records import Kind, Message

if TYPE_CHECKING:
    from markdown_it.token import Token

_OPEN_AT_MOST = 40  # changed lines of a call whose work is not folded at first
_VARIABLES = {
    "added-ground": "added",
    "added-word": "added_word",
    "removed-ground": "removed",
    "removed-word": "removed_word",
}
_MIXED = ("band", "code", "selection", "rule", "focus", "inline", "keyword")
_CHOSEN = tuple(field.name for field in fields(ThemeColours))
_PLAN_MARKS = {"completed": ("●", "done"), "in_progress": ("◐", "now")}

_LARGEST = 48_000  # characters of a block that is read as Markdown
_MOST_ROWS, _MOST_BRACKETS = 1_000, 2_000
_ROLES = {"keyword": "kw", "string": "str", "number": "num", "comment": "com", "name": "def"}
_SIMPLE = {
    "paragraph_open": "<p>",
    "paragraph_close": "</p>",
    "bullet_list_open": "<ul>",
    "bullet_list_close": "</ul>",
    "ordered_list_close": "</ol>",
    "list_item_close": "</li>",
    "blockquote_open": "<blockquote>",
    "blockquote_close": "</blockquote>",
    "hr": "<hr>",
    "table_open": "<table>",
    "table_close": "</table>",
    "thead_open": "<thead>",
    "thead_close": "</thead>",
    "tbody_open": "<tbody>",
    "tbody_close": "</tbody>",
    "tr_open": "<tr>",
    "tr_close": "</tr>",
    "th_close": "</th>",
    "td_close": "</td>",
    "strong_open": "<strong>",
    "strong_close": "</strong>",
    "em_open": "<em>",
    "em_close": "</em>",
    "s_open": "<s>",
    "s_close": "</s>",
    "softbreak": "\n",
    "hardbreak": "<br>\n",
}
_HEADINGS = {"h1": "h2", "h2": "h3"}  # the page has a heading of its own; the others are h4
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


class HtmlRenderer:
    """Draws an export as one page."""

    def __init__(self) -> None:
        here = files("catena.rendering")
        self._style = _theme_style() + here.joinpath("page.css").read_text("utf-8")
        self._script = here.joinpath("page.js").read_text("utf-8")
        self._head: Head | None = None

    def begin(self, head: Head) -> str:
        """The page's head, its style, and its title."""
        self._head = head
        agent = f"<b>{_line(head.agent)}</b>" if head.agent else ""
        policy = (
            f"default-src 'none'; style-src {_digest(self._style)}; script-src {_digest(self._script)}; "
            "base-uri 'none'; form-action 'none'"
        )
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
            f"<title>{_line(head.title)}</title>\n<style>{self._style}</style>\n</head>\n<body>\n"
            f'<main data-here="{head.here}">\n<header><h1>{_line(head.title)}</h1>\n'
            f"<p>{head.facts(agent, _line(head.directory))}</p></header>\n"
        )

    def part(self, part: ExportPart) -> str:
        """One passage."""
        place, above = part.passage.place, part.passage.above
        data = f' data-above="{above}"' if above is not None else ""
        blocks = [f'<section id="b{place}"{data}>']
        if part.fork is not None:
            blocks.append(f'<p class="seam">Fork: {_line(part.fork)}</p>')
        versions = _versions(part)
        prompted = any(message.kind is Kind.USER for message in part.messages)
        if versions and not prompted:
            blocks.append(f'<p class="turning">{versions}</p>')
        for row in nested(part.messages):
            blocks += self._row(row, versions if row.message.kind is Kind.USER else "")
        return "\n".join((*blocks, "</section>\n"))

    def end(self) -> str:
        """The page's foot, and its script."""
        assert self._head is not None
        return (
            f"<footer>{self._head.origin}</footer>\n</main>\n"
            f"<script>{self._script}</script>\n</body>\n</html>\n"
        )

    def _row(self, row: NestedRow, versions: str) -> Iterator[str]:
        """A message; of a call that started a subagent with what that said and did."""
        if not row.inner:
            yield from self._message(row.message, versions)
            if took := turn_text(row.message.took):
                yield f'<p class="took">{took}</p>'
            return
        inner = "\n".join(block for each in row.inner for block in self._row(each, ""))
        yield _tool(
            Call.of(row.message),
            self._directory,
            f'<div class="inner">{inner}</div>',
            counted(row.calls, "call"),
        )

    def _message(self, message: Message, versions: str) -> Iterator[str]:
        match spoken_of(message):
            case Prompt() as prompt:
                yield _prompt(message, prompt, versions)
            case Answer(text, interrupted=cut):
                if text.strip() or cut:
                    foot = '<p class="cut">interrupted</p>' if cut else ""
                    yield f'<div class="answer">{markdown_html(text)}{foot}</div>'
            case Thought(text, words=True):
                yield f'<div class="answer">{markdown_html(text)}</div>'
            case Thought(text) as thought:
                if text.strip():
                    yield _thought(thought)
            case Call() as call:
                yield _tool(call, self._directory)
            case Plan() as plan:
                yield _plan(plan)
            case Divider(compacted="", head=head) | Seam(drawn=True, head=head):
                yield f'<p class="seam">{_line(head)}</p>'
            case Seam():
                pass
            case Notice(text, details=details) as notice:
                more = f"<pre>{_text(details)}</pre>" if details.strip() else ""
                trouble = " trouble" if isinstance(notice, Ended) and notice.failed else ""
                yield f'<div class="notice{trouble}">{_line(text) or "notice"}{more}</div>'
            case Unknown(details=details, head=head):
                yield f'<div class="notice">{_line(head)}<pre>{_text(details)}</pre></div>'

    @property
    def _directory(self) -> str:
        return self._head.directory if self._head else ""


def _text(text: str) -> str:
    """A text of any lines, as text."""
    return escape(safe(text))


def _line(text: str) -> str:
    """A text of one line, as text."""
    return escape(safe_line(text))


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode('ascii')}'"


def _theme_style() -> str:
    light, dark = _variables(SHIPPED[LIGHT]), _variables(SHIPPED[DARK])
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"@media print {{ :root {{ color-scheme: light; {light} --ground: #ffffff; }} }}\n"
    )


def _variables(colours: ThemeColours) -> str:
    grounds = Grounds.of(colours)
    named = {name: getattr(colours, name) for name in _CHOSEN}
    named |= {name: getattr(grounds, name) for name in _MIXED}
    named |= {name: getattr(grounds, mixed) for name, mixed in _VARIABLES.items()}
    return " ".join(f"--{name}: {value};" for name, value in named.items())


def _versions(part: ExportPart) -> str:
    """The versions of a passage, with links to the ones beside it."""
    versions = part.passage.versions
    if len(versions) < 2:
        return ""
    at = part.version - 1

    def step(to: int, mark: str, words: str) -> str:
        if not 0 <= to < len(versions):
            return f'<span class="end">{mark}</span>'
        return f'<a href="#b{versions[to]}" title="{words}">{mark}</a>'

    above = part.passage.above
    back = f'<a class="above" href="#b{above}">above</a>' if above is not None else ""
    place = f"{at + 1}/{len(versions)}"
    return (
        f'<span class="versions">{step(at - 1, "‹", "previous version")}{place}'
        f"{step(at + 1, '›', 'next version')}</span>{back}"
    )


def _prompt(message: Message, prompt: Prompt, versions: str) -> str:
    first, newline, rest = safe(message.text).strip("\n").partition("\n")
    below = [f'<span class="below">+ {_line(file.name)}</span>' for file in prompt.files]
    for note in prompt.notes:
        failed = " failed" if prompt.refused and note == "not sent" else ""
        below.append(f'<span class="below{failed}">{escape(note)}</span>')
    return (
        f'<div class="prompt"><div class="said"><b>{escape(first)}</b>{escape(rest) if newline else ""}</div>'
        f'<div class="note">{message.created_at.astimezone():%H:%M}{versions}</div>{"".join(below)}</div>'
    )


def _thought(thought: Thought) -> str:
    seconds = thought.seconds
    words = "Thought" if seconds is None else f"Thought for {duration_text(seconds, precise=False)}"
    return (
        f'<details class="work thinking"><summary><span class="mark"></span>'
        f'<span class="object verb">{words}</span></summary>'
        f'<div class="answer">{markdown_html(thought.text)}</div></details>'
    )


def _tool(call: Call, directory: str, inner: str = "", calls: str = "") -> str:
    """A tool call; ``inner`` is what the subagent that it started said and did, in so many ``calls``."""
    added, removed = size_of(call.counted)
    right = [
        f'<span class="time">{calls}</span>' if calls else "",
        f'<span class="plus">+{added}</span>' if added else "",
        f'<span class="minus">−{removed}</span>' if removed else "",
        f'<span class="exit">{ending}</span>' if (ending := ending_of(call)) else "",
        f'<span class="time">{duration_text(call.seconds)}</span>' if call.seconds is not None else "",
    ]
    line = (
        f'<span class="mark">{glyph_of(call)}</span><span class="verb">{verb_of(call)}</span>'
        f'<span class="object">{_line(object_of(call, directory))}</span><span class="right">{"".join(right)}</span>'
    )
    body = "".join(_work(call, directory)) + inner
    failing = " failing" if call.failed else ""
    if not body:
        return f'<div class="work{failing}"><div class="line">{line}</div></div>'
    shown = call.failed or 0 < added + removed <= _OPEN_AT_MOST
    return (
        f'<details class="work{failing}"{" open" if shown else ""}><summary>{line}</summary>{body}</details>'
    )


def _work(call: Call, directory: str) -> Iterator[str]:
    yield from (f'<p class="named">{_line(note)}</p>' for note in notes_of(call))
    if len(locations := locations_of(call, directory)) > 1:
        yield _output("\n".join(locations))
    diffs, texts = call.diffs, texts_of(call)
    for diff in diffs:
        if label := diff_label(diff, call, directory):
            yield f'<p class="named">{_line(label)}</p>'
        yield _diff(diff)
    for text in texts:
        yield _output(text)
    if not (diffs or texts):
        for label, value in raw_of(call):
            if value.strip():
                yield f'<p class="named">{label}</p>{_output(value)}'


def _output(text: str) -> str:
    # HTML drops a newline that begins a block.
    return f'<pre class="out">{_text(text.strip(chr(10)))}</pre>'


def _diff(diff: Diff) -> str:
    hunks = change_of(diff.old, diff.new).hunks
    blocks: list[str] = []
    for hunk in hunks:
        if blocks:
            blocks.append('<div class="gap">⋯</div>')
        words = changed_words(hunk.lines)
        blocks += (_diff_line(row, words.get(index, ())) for index, row in enumerate(hunk.lines))
    return f'<div class="diff">{"".join(blocks) or lineless_words(diff)}</div>'


def _diff_line(row: DiffLine, words: Sequence[tuple[int, int]]) -> str:
    kind = {"+": ' class="add"', "-": ' class="cut"'}.get(row.sign, "")
    sign = {"-": "−"}.get(row.sign, row.sign)
    pieces: list[str] = []
    at = 0
    for start, end in words:
        pieces.append(f"{escape(row.text[at:start])}<mark>{escape(row.text[start:end])}</mark>")
        at = end
    text = "".join((*pieces, escape(row.text[at:])))
    return (
        f'<div{kind}><span class="number">{row.number}</span><span class="sign">{sign}</span>'
        f"<span>{text}</span></div>"
    )


def _plan(plan: Plan) -> str:
    items = []
    for step in plan.steps:
        mark, kind = _PLAN_MARKS.get(step.status, ("○", "then"))
        items.append(f'<li class="{kind}">{mark} {_line(step.text)}</li>')
    return f'<ul class="plan">{"".join(items)}</ul>' if items else ""


def markdown_html(text: str) -> str:
    """A Markdown text as HTML of known elements, and classes of ours."""
    text = safe(text)
    pieces = split(text)
    sources = [text[piece.start : piece.end] for piece in pieces]
    readable = [
        not piece.plain and (piece.fence or _is_readable(source))
        for piece, source in zip(pieces, sources, strict=True)
    ]
    defining = [source for source, read in zip(sources, readable, strict=True) if read and "]:" in source]
    references = references_in(defining)
    return "".join(
        _rendered(source, references) if read else f'<p class="plain">{escape(source.strip(chr(10)))}</p>'
        for source, read in zip(sources, readable, strict=True)
        if source.strip()
    )


def _is_readable(source: str) -> bool:
    rows, brackets = source.count("\n"), source.count("[")
    return len(source) <= _LARGEST and rows <= _MOST_ROWS and brackets <= _MOST_BRACKETS


def _rendered(source: str, references: Any) -> str:
    environment = {"references": dict(references)} if references else {}
    return "".join(_blocks(parser().parse(source, environment)))


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    for index, token in enumerate(tokens):
        match token.type:
            case "inline":
                yield from _inline(token.children or ())
            case "paragraph_open" | "paragraph_close" if token.hidden:
                if token.nesting < 0 and index + 1 < len(tokens) and tokens[index + 1].nesting > 0:
                    yield "\n"
            case "fence" | "code_block":
                yield _code(token.content.removesuffix("\n"), token.info)
            case "heading_open":
                yield f"<{_HEADINGS.get(token.tag, 'h4')}>"
            case "heading_close":
                yield f"</{_HEADINGS.get(token.tag, 'h4')}>"
            case "ordered_list_open":
                start = int(token.attrs.get("start", 1))
                yield f'<ol start="{start}">' if start != 1 else "<ol>"
            case "list_item_open":
                yield '<li class="task">' if _take_task(tokens[index + 1 : index + 3]) else "<li>"
            case "th_open" | "td_open":
                align = str(token.attrs.get("style", "")).removeprefix("text-align:")
                kind = f' class="{align}"' if align in ("center", "right") else ""
                yield f"<{token.tag}{kind}>" if token.tag in ("th", "td") else ""
            case known if known in _SIMPLE:
                yield _SIMPLE[known]
            case _:
                yield escape(safe(token.content))


def _take_task(after: Sequence[Token]) -> bool:
    """Draw the box of a task in the place of its letters; False where the item has none."""
    if len(after) == 2 and after[0].type == "paragraph_open" and after[1].children:
        first = after[1].children[0]
        box = _TASKS.get(first.content[:4]) if first.type == "text" else None
        if box is not None:
            first.content = box + first.content[4:]
            return True
    return False


def _inline(tokens: Sequence[Token]) -> Iterator[str]:
    links: list[str] = []  # what ends each open link
    for index, token in enumerate(tokens):
        match token.type:
            case "code_inline":
                yield f"<code>{_said(token.content)}</code>"
            case "link_open":
                href = safe_line(str(token.attrs.get("href", "")))
                shown = f' <span class="address">({escape(href)})</span>' if href else ""
                if _may_be_linked(href):
                    yield f'<a href="{escape(href)}" rel="noreferrer noopener">'
                    links.append(f"</a>{shown if _names_another(tokens[index + 1 :], href) else ''}")
                else:
                    links.append(shown)
            case "link_close":
                yield links.pop() if links else ""
            case "image":
                source = safe_line(str(token.attrs.get("src", "")))
                yield f"<em>{_said(token.content) or 'image'}</em>"
                yield f' <span class="address">({escape(source)})</span>' if source else ""
            case known if known in _SIMPLE:
                yield _SIMPLE[known]
            case _:
                yield _said(token.content)


def _may_be_linked(href: str) -> bool:
    """False for an address that hides where it leads, and for what no browser opens as a page."""
    if href.lower().startswith(("http://", "https://")):
        return not address_of(href).refusal
    return href.lower().startswith("mailto:")


def _names_another(tokens: Sequence[Token], href: str) -> bool:
    """True if the text of a link looks like an address, and is not the one that it leads to."""
    inside = takewhile(lambda token: token.type != "link_close", tokens)
    text = "".join(token.content for token in inside).strip()
    host = text.partition("://")[2] or text
    looks_like_one = "." in host and not any(map(str.isspace, text))
    return looks_like_one and not href.partition("://")[2].startswith(host.rstrip("/"))


def _said(text: str) -> str:
    """A text within a line; newlines and tabs, which can come from entities, are spaces."""
    return escape(safe(text).replace("\n", " ").replace("\t", " "))


def _code(source: str, info: str) -> str:
    source, language = safe(source), language_of(info)
    label = f'<span class="language">{escape(language)}</span>' if language else ""
    if not language or len(source) > MAX_CHARACTERS or source.count("\n") >= MAX_LINES:
        return f'<pre class="code">{label}<code>{escape(source)}</code></pre>'
    lines = (
        "".join(
            f'<span class="{_ROLES[role]}">{escape(piece)}</span>' if role in _ROLES else escape(piece)
            for piece, role in line
        )
        for line in lex(source, language)
    )
    return f'<pre class="code">{label}<code>{chr(10).join(lines)}</code></pre>'
