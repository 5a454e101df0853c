"""Markdown to lines: blocks, inline text, tables and code."""
