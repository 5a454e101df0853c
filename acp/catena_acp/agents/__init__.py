"""Agents as programs: the catalog, the process, and the ways to log in."""
