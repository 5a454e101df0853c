"""The history: its entries, what a person asks of it, and the order in which it answers."""
