"""A theme's colours as variables of styles, the stylesheet that uses them, and the filter for steps of 16 colours.

Roles that have no colour of their own when colours are few become attributes: every `$…-style` is a text style.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from weakref import WeakKeyDictionary

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.css.errors import StylesheetError
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.stylesheet import Stylesheet
from textual.css.tokenize import tokenize_values
from textual.css.tokenizer import TokenError
from textual.css.types import CSSLocation
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.theme import Theme

from catena.themes.colours import ColourDepth, Grounds, ThemeColours

# Drawn as the terminal's own colour, dim: its bright black is the ground in some palettes.
DIM = "ansi_bright_black"
_DEFAULT = "ansi_default"

# Greys of the 256 colours: code, band, selection; and muted words, which can be read on each of them, and faint ones.
_DARK_GREYS = ("#1c1c1c", "#262626", "#3a3a3a", "#b2b2b2", "#949494")
_LIGHT_GREYS = ("#eeeeee", "#eeeeee", "#dadada", "#4e4e4e", "#626262")


def theme_of(name: str, colours: ThemeColours, depth: ColourDepth, *, painted: bool = True) -> Theme:
    """Make a theme; one that is not ``painted`` stands on the terminal's own ground, which its colours name."""
    grounds = Grounds.of(colours)
    ground = colours.ground if painted else _DEFAULT
    tinted = depth is ColourDepth.FULL
    code, band, selection = grounds.code, grounds.band, grounds.selection
    muted, faint = colours.muted, colours.faint
    if not tinted:
        code, band, selection, muted, faint = _DARK_GREYS if colours.dark else _LIGHT_GREYS
    roles = {
        "ground": ground,
        "muted": muted,
        "faint": faint,
        "asking": colours.asking,
        "failure": colours.failure,
        "added": colours.added,
        "unasked": colours.unasked,
        "sand": colours.sand,
        "band": band,
        "code-ground": code,
        "asking-ground": grounds.asking if tinted else ground,
        "failure-ground": grounds.failure if tinted else ground,
        "added-ground": grounds.added if tinted else code,
        "added-word": grounds.added_word if tinted else code,
        "removed-ground": grounds.removed if tinted else code,
        "removed-word": grounds.removed_word if tinted else code,
        "added-text": colours.text if tinted else colours.added,
        "removed-text": colours.text if tinted else colours.failure,
        "word-style": "none" if tinted else "underline",
        "selection": selection,
        "selection-text": colours.text,
        "selection-style": "none",
        "rule": grounds.rule,
        "focus": grounds.focus,
        "inline": grounds.inline,
        "keyword": grounds.keyword,
        "keyword-style": "none",
        "error-style": "none",
    }
    return _theme(name, colours.dark, colours.accent, colours.text, ground, roles)


def terminal_theme(name: str, *, coloured: bool = True) -> Theme:
    """Make the theme of the terminal's own 16 colours, or of none: no grounds, attributes in their place.

    Only colours that can be read on black and on white are used: not green, yellow and cyan.
    """
    roles = dict.fromkeys(
        (
            "ground",
            "band",
            "code-ground",
            "asking-ground",
            "failure-ground",
            "added-ground",
            "added-word",
            "removed-ground",
            "removed-word",
            "selection",
            "selection-text",
            "sand",
            "keyword",
        ),
        _DEFAULT,
    )
    roles |= {
        "muted": DIM,
        "faint": DIM,
        "rule": DIM,
        "asking": "ansi_magenta",
        "failure": "ansi_bright_red",
        "added": _DEFAULT,
        "unasked": "ansi_bright_red",
        "added-text": _DEFAULT,
        "removed-text": "ansi_bright_red",
        "focus": "ansi_bright_blue",
        "inline": "ansi_bright_blue",
        "word-style": "underline",
        "selection-style": "reverse",
        "keyword-style": "bold",
        "error-style": "none",
    }
    if not coloured:
        roles = {role: _without_colour(value) for role, value in roles.items()} | {"error-style": "bold"}
    return _theme(name, True, "ansi_bright_blue" if coloured else _DEFAULT, _DEFAULT, _DEFAULT, roles)


def _without_colour(value: str) -> str:
    return _DEFAULT if value.startswith("ansi_") and value != DIM else value


def has_dim_steps(theme: Theme) -> bool:
    """True for a theme of the terminal's own colours, whose dimmer steps `DimSteps` draws."""
    return theme.variables.get("muted") == DIM


def tells_code(theme: Theme) -> bool:
    """True for a theme in which inline code has a colour of its own."""
    return theme.variables.get("inline") != _DEFAULT


def _theme(name: str, dark: bool, accent: str, text: str, ground: str, roles: Mapping[str, str]) -> Theme:
    selected, selected_text = roles["selection"], roles["selection-text"]
    return Theme(
        name=name,
        ansi=True,
        dark=dark,
        primary=accent,
        secondary=accent,
        accent=accent,
        warning=roles["asking"],
        error=roles["failure"],
        success=roles["added"],
        foreground=text,
        background=ground,
        surface=ground,
        panel=ground,
        variables={
            **roles,
            # Textual's own names, for what its widgets draw.
            "ansi-background": "ansi_black" if dark else "ansi_white",
            "ansi-foreground": "ansi_white" if dark else "ansi_black",
            "text-muted": roles["muted"],
            "text-disabled": roles["faint"],
            "foreground-muted": roles["muted"],
            "foreground-disabled": roles["faint"],
            "background-muted": roles["faint"],
            "border": roles["focus"],
            "border-blurred": roles["rule"],
            "block-cursor-foreground": selected_text,
            "block-cursor-background": selected,
            "block-cursor-text-style": f"bold {roles['selection-style']}",
            "block-cursor-blurred-foreground": selected_text,
            "block-cursor-blurred-background": selected,
            "input-cursor-foreground": text,
            "input-cursor-background": ground,
            "input-selection-background": selected,
            "input-selection-foreground": selected_text,
            "screen-selection-background": selected,
            "screen-selection-foreground": selected_text,
            "scrollbar": roles["faint"],
            "scrollbar-hover": roles["muted"],
            "scrollbar-active": accent,
            "scrollbar-background": ground,
            "scrollbar-background-hover": ground,
            "scrollbar-background-active": ground,
            "link-color": accent,
        },
    )


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


_DIM = RichColor.parse(DIM.removeprefix("ansi_"))


class DimSteps(LineFilter):
    """Line filter that draws what is in the colour `DIM` in the terminal's own colour, dim."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments of a line with the dimmer steps as an attribute."""
        return [
            Segment(text, _dimmed(style) if style else style, control) for text, style, control in segments
        ]


@lru_cache(maxsize=1024)
def _dimmed(style: Style) -> Style:
    color = style.color
    # Not the colour itself: Rich and Textual have several names for it, and these tell colours apart, too.
    if color is None or (color.type, color.number) != (_DIM.type, _DIM.number):
        return style
    return style + Style(color="default", dim=True)
