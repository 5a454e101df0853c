"""The keys: every action that a key does, its default keys, how keys are spelled, and the person's own."""
