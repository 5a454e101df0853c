"""The person's desktop: paths that are dropped, images on the clipboard, files that are opened."""
