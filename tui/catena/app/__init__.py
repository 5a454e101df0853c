"""The app: start-up, themes, the services behind it, and the MCP server it hands to agents."""
