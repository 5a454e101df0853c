"""Actions on what is written, attached, queued and run for the next prompt."""
