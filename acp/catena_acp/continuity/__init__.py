"""Which session may carry a prompt, and with which prior context; needs no live conversation."""
