"""Files that a prompt mentions as `@path`: which there are, which are meant, and what of them is sent."""
