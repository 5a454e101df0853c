"""Commands on kept conversations: list, search, show, export, import and prune."""
