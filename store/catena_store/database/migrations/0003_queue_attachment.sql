-- Files and images of prompts that are not in the tree yet: those that wait in the queue, and drafts. They go where
-- their text goes. `path` says where a file came from, for an agent that reads it by itself.

ALTER TABLE attachment ADD COLUMN path TEXT;

CREATE TABLE queue_attachment (
    id       INTEGER PRIMARY KEY,
    item_id  TEXT NOT NULL REFERENCES queue_item (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    sha256   TEXT NOT NULL,
    mime     TEXT NOT NULL,
    name     TEXT NOT NULL,
    path     TEXT,
    bytes    BLOB NOT NULL
) STRICT;
CREATE INDEX queue_attachment_item ON queue_attachment (item_id, position);

-- By leaf, as drafts are kept. Leaf 0 is the root.
CREATE TABLE draft_attachment (
    id        INTEGER PRIMARY KEY,
    window_id TEXT NOT NULL REFERENCES window (id) ON DELETE CASCADE,
    leaf_id   INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    sha256    TEXT NOT NULL,
    mime      TEXT NOT NULL,
    name      TEXT NOT NULL,
    path      TEXT,
    bytes     BLOB NOT NULL
) STRICT;
CREATE INDEX draft_attachment_leaf ON draft_attachment (window_id, leaf_id, position);
