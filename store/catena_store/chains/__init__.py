"""The chain of a conversation: its links, the turns that travelled on them, and what each cost."""
