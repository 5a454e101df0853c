"""`catena run`: a prompt without a screen."""
