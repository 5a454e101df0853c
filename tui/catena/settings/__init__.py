"""The settings file, and the agents that it and the catalog name."""
