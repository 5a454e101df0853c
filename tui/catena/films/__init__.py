"""Films of the screen: demo mode, what a film is made of, and the replay of a conversation."""
