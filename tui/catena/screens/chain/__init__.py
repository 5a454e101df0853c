"""The chain of a conversation: its sessions, newest last."""
