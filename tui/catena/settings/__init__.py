"""The settings file, and the agents of the settings and the catalogue."""
