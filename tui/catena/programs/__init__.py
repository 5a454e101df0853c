"""Commands of the person's own that are told what happens: hooks, and the one that writes the status line."""
