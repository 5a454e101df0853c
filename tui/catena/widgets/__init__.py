"""Widgets of the screens: a widget gets data and posts messages, and reads and writes nothing itself."""

"""Widgets of the screens: a widget gets data and posts messages, and reads and writes nothing itself."""
