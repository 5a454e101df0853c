"""The Textual app: start-up, themes, its services, and the MCP server for agents."""
