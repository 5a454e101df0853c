"""One prompt on its way to a session: context, claim, blocks."""
