"""Control sequences that Textual neither sends nor reads: clipboard, notifications, and what terminals reply."""
