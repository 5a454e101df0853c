"""The cell painter: what the terminal shows, and the fewest bytes after which it shows something else."""
