"""The setting `permissions`: the answer of headless runs, and the rules for every project.

It is a word, or a table with that word as ``run`` and the rules as ``[[permissions.rules]]``. Rules are read from
``[[permission_rules]]``, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from catena.settings.file.document import SettingsDocument
from catena.settings.tables.projects import absolute, is_absolute

if TYPE_CHECKING:  # a dataclass that the first frame does not need
    from catena_acp.permissions.rule import Rule

RULES, OLD_RULES = ("permissions", "rules"), ("permission_rules",)
_FIELDS = ("project", "kind", "pattern", "path", "answer")


class Permissions(StrEnum):
    """Policy of a headless run for permission requests."""

    ASK = "ask"  # ask the person; DENY without a terminal
    ALLOW_READS = "allow-reads"  # allow what only reads, refuse the rest
    ALLOW = "allow"
    DENY = "deny"


def read_rules(document: SettingsDocument) -> tuple[Rule, ...]:
    """The rules of every project. Raises InvalidSettings."""
    if document.at(RULES) is not None and document.at(OLD_RULES):
        raise document.wrong(
            OLD_RULES, f"is the old name of [[{'.'.join(RULES)}]]: only one of them can be set"
        )
    return (*_rules(document, RULES), *_rules(document, OLD_RULES))


def _rules(document: SettingsDocument, at: tuple[str, ...]) -> Iterator[Rule]:
    tables = document.at(at) or []
    header = f"[[{'.'.join(at)}]]"
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise document.wrong(at, f"must be tables: {header}")
    for number, each in enumerate(tables):
        try:
            yield _rule(each)
        except ValueError as error:
            raise document.wrong_table(at, number, f"{header} {error}") from error


def _rule(table: Mapping[str, Any]) -> Rule:
    """The rule of a table. Raises ValueError with what is wrong."""
    from catena_acp.permissions.rule import RuleScope, rule_of

    if unknown := [key for key in table if key not in _FIELDS]:
        raise ValueError(f"`{unknown[0]}` is not a setting; known: {', '.join(_FIELDS)}")
    if "pattern" in table and "path" in table:
        raise ValueError("`path` is another name of `pattern`: only one of them can be set")
    kind, answer = table.get("kind"), table.get("answer")
    pattern = table.get("pattern", table.get("path"))
    if not (isinstance(kind, str) and isinstance(pattern, str) and answer in ("allow", "reject")):
        raise ValueError('needs kind = "…", pattern = "…" and answer = "allow" or "reject"')
    project = table.get("project")
    if project is not None and not (isinstance(project, str) and is_absolute(project)):
        raise ValueError("project must be a directory that begins with / or ~")
    return rule_of(
        kind,
        pattern,
        allow=answer == "allow",
        scope=RuleScope.SETTINGS,
        project=absolute(project) if project else "",
    )
