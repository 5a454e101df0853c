"""Themes: ten colours, what is mixed from them, and the catalog of those that ship."""
