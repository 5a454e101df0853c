"""Commands on the person's own settings: the file, the keys, the permission rules."""
