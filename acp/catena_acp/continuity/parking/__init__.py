"""Forks that nobody waits for: saved forks, and the probe for fork points."""
