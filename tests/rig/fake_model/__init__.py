"""A deterministic stand-in for the models behind real agents, so that they run offline.

Standard library only. What it answers is derived from what it was asked, so that an answer proves which
history the agent had; see ``reply``. ``python -m fake_model`` starts it.
"""
