"""Forks made in the background: parked forks, and the probe for fork points."""
