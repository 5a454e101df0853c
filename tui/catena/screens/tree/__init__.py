"""The tree of a conversation."""
