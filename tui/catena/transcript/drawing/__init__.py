"""Drawing basics: lines, wrapping, highlighting, palette and render options."""
