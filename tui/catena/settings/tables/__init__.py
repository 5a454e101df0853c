"""A module for each table of the settings file: its values, and how they are read."""
