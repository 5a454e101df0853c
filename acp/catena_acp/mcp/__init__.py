"""MCP servers for sessions: how they are written, which of them an agent gets, and why others are not sent."""
