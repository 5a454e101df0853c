"""Syntax highlighting: lexing in a thread, and a cache for the code shown last."""

from __future__ import annotations

from collections import OrderedDict

Role = str  # keyword, string, number, comment, name, or nothing
ColouredLine = tuple[tuple[str, Role], ...]
_Key = tuple[str, str]

MAX_LINES = 2000
MAX_CHARACTERS = 200_000
_KEPT = 48


class HighlightCache:
    """Cache of lexed code blocks.

    ``of`` returns None for a block that is not lexed yet and records the request; ``lex_all`` lexes the requests, in a
    thread, and ``add`` stores them. With ``eager`` blocks are lexed at once.
    """

    def __init__(self, *, eager: bool = False) -> None:
        self._eager = eager
        self._known: OrderedDict[_Key, tuple[ColouredLine, ...]] = OrderedDict()
        self._requested: dict[_Key, None] = {}
        self.misses = 0  # number of requests for blocks not lexed yet

    @property
    def has_requests(self) -> bool:
        return bool(self._requested)

    def of(self, code: str, language: str) -> tuple[ColouredLine, ...] | None:
        """Return the highlighted lines of ``code``; None if it is not lexed yet or stays plain."""
        if not language or len(code) > MAX_CHARACTERS or code.count("\n") >= MAX_LINES:
            return None
        key = (language, code)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        if self._eager:
            self.add({key: lex(code, language)})
            return self._known[key]
        self.misses += 1
        self._requested[key] = None
        return None

    def take_requests(self) -> list[_Key]:
        """Return and clear the requests."""
        wanted = list(self._requested)
        self._requested.clear()
        return wanted

    def add(self, lexed: dict[_Key, tuple[ColouredLine, ...]]) -> None:
        """Store lexed blocks; the least recently used are dropped."""
        self._known.update(lexed)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


def lex_all(wanted: list[_Key]) -> dict[_Key, tuple[ColouredLine, ...]]:
    """Lex code blocks, each given by language and text."""
    return {key: lex(key[1], key[0]) for key in wanted}


def lex(code: str, language: str) -> tuple[ColouredLine, ...]:
    """Return the lines of ``code`` with the role of each token; without roles for an unknown language."""
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Token
    from pygments.util import ClassNotFound

    plain = tuple(((line, ""),) for line in code.split("\n"))
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return plain
    roles = (
        (Token.Comment, "comment"),
        (Token.Keyword, "keyword"),
        (Token.Operator.Word, "keyword"),
        (Token.Name.Tag, "keyword"),
        (Token.Literal.String, "string"),
        (Token.Literal.Number, "number"),
        (Token.Name.Function, "name"),
        (Token.Name.Class, "name"),
        (Token.Name.Decorator, "name"),
        (Token.Name.Attribute, "name"),
        (Token.Generic.Inserted, "string"),
        (Token.Generic.Deleted, "number"),
    )
    lines: list[list[tuple[str, Role]]] = [[]]
    known: dict[object, Role] = {}
    for kind, value in lexer.get_tokens(code):
        if kind not in known:
            known[kind] = next((role for token, role in roles if kind in token), "")
        role = known[kind]
        head, *rest = value.split("\n")
        if head:
            lines[-1].append((head, role))
        for part in rest:
            lines.append([(part, role)] if part else [])
    coloured = tuple(tuple(line) for line in lines)
    # A lexer may drop or change characters; the code stays plain then.
    return coloured if "\n".join("".join(p for p, _ in line) for line in coloured) == code else plain
