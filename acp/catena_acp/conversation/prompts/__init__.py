"""Prompts of a window: delivery, the queue, steering, and the work after a turn."""
