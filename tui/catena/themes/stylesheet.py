"""The stylesheet of the app: what it has parsed is parsed again only where a colour in it has changed."""

from __future__ import annotations

import re

from textual.css.errors import StylesheetError
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.stylesheet import Stylesheet
from textual.css.tokenize import tokenize_values
from textual.css.tokenizer import TokenError
from textual.css.types import CSSLocation

_NAMED = re.compile(r"\$([A-Za-z_][\w-]*)")  # variables in styles


class SparingStylesheet(Stylesheet):
    """Stylesheet that keeps the rules of each source until a variable that stands in it has another value.

    Textual's parses all of them again for any other variable, and once more for the next widget of a new class.
    """

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        # By source: the values of its variables, and its rules with those.
        self._kept: dict[tuple[object, ...], tuple[dict[str, str], list[RuleSet]]] = {}

    def _parse_rules(
        self,
        css: str,
        read_from: CSSLocation,
        is_default_rules: bool = False,
        tie_breaker: int = 0,
        scope: str = "",
    ) -> list[RuleSet]:
        """The rules of one source. Raises StylesheetError, TokenError where it has none."""
        values = {name: self._variables[name] for name in _NAMED.findall(css) if name in self._variables}
        source = (css, read_from, is_default_rules, tie_breaker, scope)
        kept = self._kept.get(source)
        if kept is None or kept[0] != values:
            rules = _rules(css, read_from, values, is_default_rules, tie_breaker, scope)
            kept = self._kept[source] = values, rules
        return kept[1]

    def reparse(self) -> None:
        """Apply other variables. Raises StylesheetError, StylesheetParseError; the rules stay as they were then."""
        self.parse()


def _rules(
    css: str,
    read_from: CSSLocation,
    variables: dict[str, str],
    is_default_rules: bool,
    tie_breaker: int,
    scope: str,
) -> list[RuleSet]:
    """The rules of one source. Raises StylesheetError, TokenError."""
    try:
        return list(
            parse(
                scope,
                css,
                read_from,
                variable_tokens=tokenize_values(variables),
                is_default_rules=is_default_rules,
                tie_breaker=tie_breaker,
            )
        )
    except TokenError:
        raise
    except Exception as error:  # as Textual does: whatever its parser raises is an error in the styles
        raise StylesheetError(f"failed to parse css; {error}") from error
