"""The review of what agents changed in files: files on the left, their hunks on the right."""
