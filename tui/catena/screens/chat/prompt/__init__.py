"""The area a prompt is written in: attachments, completions of mentions and templates, and dropped files."""
