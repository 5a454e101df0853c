"""Branches side by side: what each says, what it changed in files, and what it took."""
