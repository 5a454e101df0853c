"""Work that outlives its turn: what goes on in the background of a conversation."""
