"""The overlay for a side question."""
