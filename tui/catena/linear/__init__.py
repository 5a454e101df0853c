"""Linear mode: a whole client that only appends lines, for screen readers, dumb terminals and logs."""
