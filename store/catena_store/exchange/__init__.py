"""Exchange: conversations as one JSON document, written from the store and read back into another one."""
