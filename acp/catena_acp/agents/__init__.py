"""Agents as programs: the catalogue, the process and the login methods."""
