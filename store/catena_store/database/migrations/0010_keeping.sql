-- Keeping house and coming back.

-- When the removal of a conversation for good began. Its rows go in steps; those that a fork's branch runs over stay, and the
-- conversation's own row with them, which nobody can open any more.
ALTER TABLE conversation ADD COLUMN pruned_at INTEGER;
CREATE INDEX conversation_pruned ON conversation (pruned_at) WHERE pruned_at IS NOT NULL;

-- The directories that a conversation worked in before, and until when.
CREATE TABLE former_directory (
    id              INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    cwd             TEXT NOT NULL,
    until           INTEGER NOT NULL
) STRICT;
CREATE INDEX former_directory_conversation ON former_directory (conversation_id, id);

-- Sessions that were deleted at their agent because a person asked for it. Some agents list them again later.
CREATE TABLE deleted_session (
    agent      TEXT NOT NULL,
    profile    TEXT NOT NULL,
    session_id TEXT NOT NULL,
    deleted_at INTEGER NOT NULL,
    PRIMARY KEY (agent, profile, session_id)
) STRICT, WITHOUT ROWID;
