"""The settings file: TOML of which each error names its line, and the one writer."""
