"""The rows of a branch: entries, their heights, and where they come from."""
