"""The public registry of agents: its data, what its agents were seen to do, and installs from it."""
