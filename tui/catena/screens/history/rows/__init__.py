"""The rows of the history: what each says, their order, the list that draws them, and what those in sight read."""
