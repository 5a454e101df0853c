"""Databases of other programs. Read only, with nothing of ours beside them: no lock that they wait for, no file."""
