"""The rehearsal agent: a real ACP agent process with a script in place of a model.

It is the offline first chat of a new user and the partner of the tests. It imports nothing but the standard
library and itself, so that it starts in a time that nobody notices.
"""

"""The rehearsal agent: a real ACP agent process with a script in place of a model.

It is the offline first chat of a new user and the partner of the tests. It imports nothing but the standard
library and itself, so that it starts in a time that nobody notices.
"""
