"""The screens, each with its styles beside it."""

"""The screens, each with its styles beside it."""
