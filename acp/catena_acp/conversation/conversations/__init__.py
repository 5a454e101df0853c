"""All conversations of a client process: opened, forked, kept house with, and what was done to them undone."""
