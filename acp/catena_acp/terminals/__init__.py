"""Terminals that run commands for an agent: the process, its output as text, and who may use which."""
