"""Export: conversations as Markdown, JSON and HTML, with secrets masked; no screen and no protocol."""
