"""The Textual app: start-up, its services, and the MCP server for agents."""
