"""The command line: arguments, and one module for each group of commands."""
