"""The tabs of a directory: what each one shows, drafts, trouble and undo, without a widget."""
