"""Stored tool calls: their data, and rows of subagents below the calls that started them."""
