"""What a client that died left behind, and following the client that holds a conversation."""
