"""``catena agents``: the list, one agent in detail, installs, and newer data of the registry."""
