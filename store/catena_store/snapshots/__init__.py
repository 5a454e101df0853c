"""Snapshots of a directory's files, kept as git trees in repositories of our own, and the way back to one."""
