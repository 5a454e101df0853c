"""The files of a conversation's directory, kept at the start and the end of each turn."""
