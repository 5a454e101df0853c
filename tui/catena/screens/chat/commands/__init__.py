"""The commands of a chat: one table, what carries them out, and what is possible before the store is open."""
