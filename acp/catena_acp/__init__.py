"""How Catena speaks: agents, sessions, and conversations that outlive them."""

"""How Catena speaks: agents, sessions, and conversations that outlive them."""
