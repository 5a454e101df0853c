"""Markdown drawn as lines: blocks, inline text, tables and code."""
