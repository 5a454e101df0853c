"""Messages as typed values: each is made from its row when it is drawn, and says what stands in it as blocks.

Nothing here speaks the protocol, so that a transcript can be drawn before that is loaded.
"""
