"""Things that the agent of a conversation is given: its login, permission rules and MCP servers."""
