"""The screens, each with its styles beside it."""
