"""Completion in shells: what fits at the cursor, and the scripts that ask for it."""
