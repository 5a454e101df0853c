"""Windows and workspaces: drafts, queued prompts, attachments, typed inputs, chosen options and the undo journal."""
