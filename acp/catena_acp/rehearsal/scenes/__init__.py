"""Scenes that the rehearsal agent plays: speech, prose, tools and failures."""
