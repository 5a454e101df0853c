"""Bases of the screens over the chat: dialog, list screen, picker, reading screen, page."""
