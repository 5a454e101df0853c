"""What a person does with a conversation: prompts, branches, checkpoints, asides, inspection, recovery."""
