"""The SQLite file: where it lies, how it is opened, upgraded, checked and repaired."""
