-- The files of a directory around a turn: git trees in a repository of ours, which lies beside this file.
CREATE TABLE turn_files (
    turn_id  TEXT PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE,
    root     TEXT NOT NULL,
    before   TEXT NOT NULL,
    after    TEXT,
    left_out TEXT NOT NULL DEFAULT '[]'
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_files_root ON turn_files (root);

-- A change of files that was begun and is not done: with its steps it is finished or undone after a crash.
CREATE TABLE file_restore (
    id              TEXT PRIMARY KEY,
    root            TEXT NOT NULL,
    conversation_id TEXT REFERENCES conversation (id) ON DELETE CASCADE,
    steps           TEXT NOT NULL,
    begun_at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
