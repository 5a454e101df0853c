"""The commands of linear mode, by subject, and the one table of them."""
