"""The panels above the composer: permission, trouble, edit, fork, queue, plan, attachments."""
