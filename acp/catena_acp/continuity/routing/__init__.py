"""The route, prior context and the replay check: pure functions."""
