"""Lines and cells: flow, colours, highlighting, render options."""
