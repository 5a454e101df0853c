"""Finding conversations: the rows of the history, and full-text search."""
