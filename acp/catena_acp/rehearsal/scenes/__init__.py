"""Scenes of the rehearsal agent: speech, prose, tools and failures."""
