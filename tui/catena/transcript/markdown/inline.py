"""Inline Markdown: markdown-it's inline tokens as styled runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style

from catena.text.safe_text import safe, safe_line
from catena.transcript.drawing.render_options import Palette
from catena.transcript.drawing.wrapping import Run

if TYPE_CHECKING:
    from markdown_it.token import Token


HREF = "href"  # key of a link's address in a style's meta data
_TERMINAL_SCHEMES = ("http://", "https://", "mailto:", "ftp://")

_STRONG = Style(bold=True)
_EMPHASIS = Style(italic=True)
_STRUCK = Style(strike=True)


def inline_runs(tokens: Sequence[Token], base: Style, palette: Palette) -> list[list[Run]]:
    """Return one list of runs for each hard line of an inline token's children."""
    lines: list[list[Run]] = [[]]
    styles = [base]
    links: list[tuple[str, int]] = []  # address, and number of runs before the link
    length = 0

    def put(text: str, style: Style) -> None:
        nonlocal length
        if text:
            lines[-1].append((text, style))
            length += len(text)

    for token in tokens:
        match token.type:
            case "text" | "text_special" | "html_inline":
                put(safe_line_ends(token.content), styles[-1])
            case "code_inline":
                tick = "" if palette.tells_code else "`"
                put(f"{tick}{safe_line_ends(token.content)}{tick}", styles[-1] + palette.code)
            case "softbreak":
                put(" ", styles[-1])
            case "hardbreak":
                lines.append([])
            case "strong_open":
                styles.append(styles[-1] + _STRONG)
            case "em_open":
                styles.append(styles[-1] + _EMPHASIS)
            case "s_open":
                styles.append(styles[-1] + _STRUCK)
            case "link_open":
                href = safe_line(str(token.attrs.get("href", "")))
                styles.append(styles[-1] + palette.link + link_style(href))
                links.append((href, sum(len(line) for line in lines)))
            case "link_close":
                styles.pop()
                href, start = links.pop()
                runs = [run for line in lines for run in line][start:]
                if not _is_same_address("".join(text for text, _ in runs), href):
                    put(f" ({href})", styles[-1] + palette.faint)
            case "strong_close" | "em_close" | "s_close":
                styles.pop()
            case "image":
                put(safe_line(token.content) or "image", styles[-1] + _EMPHASIS)
                source = safe_line(str(token.attrs.get("src", "")))
                if source:
                    put(f" ({source})", styles[-1] + palette.faint)
            case _:
                put(safe_line_ends(token.content), styles[-1])
    return lines


def safe_line_ends(text: str) -> str:
    """Return ``text`` made safe, with newlines and tabs, which can come from entities, as spaces."""
    return safe(text).replace("\n", " ").replace("\t", " ")


def link_style(href: str) -> Style:
    """Return the style of a link: its address for clicks, and for the terminal where that can open it.

    The terminal gets none that hides where it leads.
    """
    from catena_acp.port.elicitation.requests import address_of  # few answers have a link

    terminal = href if href.lower().startswith(_TERMINAL_SCHEMES) else None
    if terminal is not None and href.lower().startswith("http") and address_of(href).refusal:
        terminal = None
    return Style(link=terminal, meta={HREF: href})


def _is_same_address(text: str, href: str) -> bool:
    return (
        not href or text == href or f"mailto:{text}" == href or href in (f"http://{text}", f"https://{text}")
    )
