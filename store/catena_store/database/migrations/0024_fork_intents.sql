-- A fork that an agent is asked for. Where it is answered, and gets no link before we end, its session is ours all the
-- same; where the answer never came, a session that appears from then on and holds what the source held.
CREATE TABLE fork_intent (
    id         INTEGER PRIMARY KEY,
    agent      TEXT NOT NULL,
    profile    TEXT NOT NULL DEFAULT '',
    session_id TEXT NOT NULL,
    cwd        TEXT NOT NULL,
    made       TEXT,
    asked_at   INTEGER NOT NULL
) STRICT;
