"""Measures Catena as a person meets it: the real program at the end of a pty, with an agent process."""
