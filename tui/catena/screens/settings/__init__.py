"""What holds in a place, and changes of it: the settings, permission rules, MCP servers and prompt templates."""
