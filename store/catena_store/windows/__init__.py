"""What belongs to a window or its workspace: drafts, queued prompts, attachments, typed inputs and the undo journal."""
