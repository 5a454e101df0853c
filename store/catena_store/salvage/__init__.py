"""Reading what is left of a damaged file, message by message, into a new one."""
