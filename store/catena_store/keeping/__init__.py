"""Keeping house: what conversations take, which of them may go, their removal for good, and the space it gives back."""
