"""What the agent was told, turn by turn."""
