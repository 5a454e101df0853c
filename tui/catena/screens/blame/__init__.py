"""Who wrote each line of a file, prompt by prompt."""
