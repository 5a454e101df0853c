-- What surrounded each turn, and what a conversation was given beside its messages. Each of these tables can be lost
-- without harm to the others: nothing that the tree is read by refers to them.

-- Options and directories are JSON. The git columns are null where the directory is in no repository.
CREATE TABLE turn_surroundings (
    turn_id       TEXT PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE,
    options       TEXT NOT NULL DEFAULT '{}',
    directories   TEXT NOT NULL DEFAULT '[]',
    git_branch    TEXT,
    git_worktree  TEXT,
    git_commit    TEXT,
    context_used  INTEGER,
    context_size  INTEGER
) STRICT, WITHOUT ROWID;

-- Directories beside the one that a conversation works in.
CREATE TABLE conversation_directory (
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    path            TEXT NOT NULL,
    position        INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, path)
) STRICT, WITHOUT ROWID;

-- What the person set in a window since its last turn, which no turn has in force yet. The value is JSON.
CREATE TABLE window_choice (
    window_id TEXT NOT NULL REFERENCES window (id) ON DELETE CASCADE,
    agent     TEXT NOT NULL,
    option    TEXT NOT NULL,
    value     TEXT NOT NULL,
    chosen_at INTEGER NOT NULL,
    PRIMARY KEY (window_id, agent, option)
) STRICT, WITHOUT ROWID;
