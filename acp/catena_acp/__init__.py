"""Agents, sessions, and the conversations that outlive them."""
