"""The stylesheet of the app: it parses and styles again only where something has changed that counts for it."""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from textual.css.errors import StylesheetError
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.stylesheet import Stylesheet
from textual.css.tokenize import tokenize_values
from textual.css.tokenizer import TokenError
from textual.css.types import CSSLocation
from textual.dom import DOMNode

_NAMED = re.compile(r"\$([A-Za-z_][\w-]*)")  # variables in styles


class _Rule(RuleSet):
    """Rule that is found in sets without a call: each styling looks for all rules there are in one."""

    __hash__ = object.__hash__  # Textual's is the same, in Python


class SparingStylesheet(Stylesheet):
    """Stylesheet that keeps the rules of each source until a variable that stands in it has another value.

    Textual's parses all of them again for any other variable, and once more for the next widget of a new class. It also
    styles all components of a widget, a transcript's sixty, with each class and focus that comes and goes around it.
    """

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        # By source: the values of its variables, and its rules with those.
        self._kept: dict[tuple[object, ...], tuple[dict[str, str], list[RuleSet]]] = {}
        # What the components of a node were styled by.
        self._styled_by: WeakKeyDictionary[DOMNode, tuple[object, ...]] = WeakKeyDictionary()

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

    def _process_component_classes(self, node: DOMNode) -> None:
        """Style the components of a node, unless all that their rules can see is as it was."""
        components = node._get_component_classes()
        if not components:
            return
        # What rules can call a component.
        names = (
            "*",
            "DOMNode",
            *(f".{component}" for component in components),
        )
        rules_map = self.rules_map
        rules = [rules_map[name] for name in names if name in rules_map]
        states = set[str]().union(*(rule.pseudo_classes for found in rules for rule in found))
        seen = [
            (around.classes, [state for state in sorted(states) if around.has_pseudo_classes({state})])
            for around in node.css_path_nodes
        ]
        styled_by = (rules, seen)
        if node._component_styles and self._styled_by.get(node) == styled_by:
            return
        super()._process_component_classes(node)
        self._styled_by[node] = styled_by

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
        rules = list(
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
    for rule in rules:
        rule.__class__ = _Rule
    return rules
