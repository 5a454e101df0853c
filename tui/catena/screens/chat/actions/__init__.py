"""What the commands of the chat screen do, by subject."""
