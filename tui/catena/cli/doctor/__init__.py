"""``catena doctor``: what it finds, and repairs of a terminal and of the store."""
