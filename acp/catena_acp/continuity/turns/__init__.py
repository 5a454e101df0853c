"""A turn as it arrives: events to rows, permissions, its end, and updates that come after it."""
