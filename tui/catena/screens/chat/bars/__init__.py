"""The bars of the chat screen: tabs, find, the status row and the words on the edges of the composer's box."""
