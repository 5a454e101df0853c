-- What a person has looked at of the changes that agents made in files.

-- Hunks that were marked as seen, by a digest of their file and their lines.
CREATE TABLE seen_hunk (
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    digest          TEXT NOT NULL,
    seen_at         INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, digest)
) STRICT, WITHOUT ROWID;

-- How far the branch went whose changes were looked at last. The message is named by its id, and may be gone.
CREATE TABLE last_look (
    conversation_id TEXT PRIMARY KEY REFERENCES conversation (id) ON DELETE CASCADE,
    message_uid     TEXT NOT NULL,
    looked_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
