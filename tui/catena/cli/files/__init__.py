"""Commands on files: what agents changed in them, and the way back."""
