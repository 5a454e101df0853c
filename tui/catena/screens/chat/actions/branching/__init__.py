"""Actions that make, change and leave branches."""
