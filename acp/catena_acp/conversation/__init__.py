"""Conversations that outlive the sessions that carry them."""
