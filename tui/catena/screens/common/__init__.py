"""What several screens are made of: a page to read, a list to pick from."""
