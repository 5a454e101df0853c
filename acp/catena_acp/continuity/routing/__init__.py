"""The route and its explanation, prior context, the replay check, and what a prompt is by its form."""
