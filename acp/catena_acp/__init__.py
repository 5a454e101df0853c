"""How Catena speaks: agents, sessions, and conversations that outlive them."""
