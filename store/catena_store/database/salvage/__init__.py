"""Salvage of a damaged file: every readable row goes into a new one."""
