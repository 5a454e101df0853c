"""The kinds of tool calls that rules are about."""

PATH_KINDS = ("read", "edit", "delete", "move", "search")
KINDS = (*PATH_KINDS, "execute", "fetch", "any")
