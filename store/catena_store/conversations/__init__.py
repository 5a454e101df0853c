"""Conversations and what is in them: messages, branches, the tree, search and checkpoints."""
