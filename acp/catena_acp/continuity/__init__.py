"""Which session may carry a prompt, and what it is told; needs no live conversation."""
