"""Actions behind the commands of the chat screen, by subject."""
