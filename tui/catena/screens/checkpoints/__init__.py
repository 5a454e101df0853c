"""The list of checkpoints."""
