"""Drawing of each kind of message: prompts, answers, tool calls, diffs, notices and seams."""
