"""The keys of vi for a text: an engine without a screen, from text, cursor and key to text and cursor."""
