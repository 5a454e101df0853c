"""The context that the agent had at each turn."""
