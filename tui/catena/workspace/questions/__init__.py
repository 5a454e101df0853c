"""What agents ask the person: permission requests in words, forms and web pages as lines, and what is filled in."""
