"""Conversations out of other tools' sessions: previewed, adopted with a link to that very session, or forked."""
