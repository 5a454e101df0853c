-- How often checkpoints are made in a conversation, where the person set that for it, and what an agent asked for through
-- the tools that it was handed.

CREATE TABLE checkpointing (
    conversation_id TEXT PRIMARY KEY REFERENCES conversation (id) ON DELETE CASCADE,
    frequency       TEXT NOT NULL CHECK (frequency IN ('turn', 'tool', 'manual', 'off'))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX checkpoint_label ON checkpoint (conversation_id, label) WHERE label IS NOT NULL;

-- A request is open while it has no answer. It is written by the agent's tool, and answered by the person.
CREATE TABLE rewind_request (
    id              TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    window_id       TEXT NOT NULL,
    checkpoint_id   TEXT NOT NULL,
    answer          TEXT CHECK (answer IN ('granted', 'refused', 'failed')),
    asked_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX rewind_request_open ON rewind_request (conversation_id) WHERE answer IS NULL;
