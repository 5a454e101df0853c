"""Commands and keys as screens: the palette and the help."""
