"""Named and automatic pointers to messages, and the agent's own requests to rewind."""
