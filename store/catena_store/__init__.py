"""What Catena keeps: messages, chains, windows and search, in one SQLite file."""
