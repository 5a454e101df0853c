"""Messages as Markdown, as HTML and as lines of text, each drawn from their values; no screen and no protocol."""
