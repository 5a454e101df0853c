"""Scenarios of what lasts: an hour's stream, a thousand conversations, many tabs, very long branches and queues."""
