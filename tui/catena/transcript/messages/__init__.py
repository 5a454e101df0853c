"""One kind of message each: prompts, answers, tool calls, diffs, notices."""
