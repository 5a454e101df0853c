"""The bars of the chat screen: tabs, status, find."""
