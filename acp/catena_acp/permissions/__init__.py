"""The person's own permission rules: what they say, what a request is about, and which rule answers it. Pure."""
