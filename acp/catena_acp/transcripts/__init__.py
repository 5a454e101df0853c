"""Transcripts that other tools keep on disk: where they lie, their heads, their messages. Read, never written."""
