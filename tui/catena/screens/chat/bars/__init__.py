"""The bars of the chat screen: tabs, find, the hints and the words on the edges of the composer's box."""
