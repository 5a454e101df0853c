"""Model of a branch's rows: the column of entries, their heights, and their source text."""
