"""Markdown of answers as HTML, parsed as the screen parses it; HTML in it is text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from catena.text.safe_text import safe, safe_line
from catena.transcript.drawing.highlight import MAX_CHARACTERS, MAX_LINES, lex
from catena.transcript.markdown.code import language_of
from catena.transcript.markdown.markdown import parser, references_in
from catena.transcript.markdown.splitter import split
from catena_acp.port.elicitation.addresses import address_of

if TYPE_CHECKING:
    from markdown_it.token import Token

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
