"""Filters of lines, the last step before they are drawn: no control sequences, and ASCII for terminals without more."""
