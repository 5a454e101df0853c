"""The interface between conversations and agents: what an agent can, what it tells and asks, and what it is sent."""
