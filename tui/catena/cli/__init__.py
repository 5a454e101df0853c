"""The command line: arguments, and a room of commands for each subject."""
