"""``catena run``: one prompt without a screen."""
