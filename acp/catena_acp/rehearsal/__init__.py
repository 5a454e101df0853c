"""The built-in rehearsal agent: a real ACP agent process with scripted scenes in place of a model.

It serves the first offline chat of a new user, and the tests. It imports only the standard library and itself, so that
it starts fast; and of that no dataclasses, which bring ``inspect`` along.
"""
