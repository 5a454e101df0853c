"""Who wrote each line of a file: the turn that the snapshots prove, a time between turns, or nobody that is known."""
