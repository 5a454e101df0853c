-- Everything that Catena keeps. Times are integer milliseconds since 1970 in UTC. Ids are text, except the rowid of a
-- message, which the tree is walked by and the full-text index refers to; it never leaves the store.

CREATE TABLE conversation (
    id            TEXT PRIMARY KEY,
    family        TEXT NOT NULL,
    title         TEXT,
    agent         TEXT NOT NULL,
    profile       TEXT NOT NULL DEFAULT '',
    cwd           TEXT NOT NULL,
    fork_point_id INTEGER REFERENCES message (id),
    pinned        INTEGER NOT NULL DEFAULT 0,
    archived      INTEGER NOT NULL DEFAULT 0,
    deleted_at    INTEGER,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX conversation_family ON conversation (family);
CREATE INDEX conversation_updated ON conversation (updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX conversation_cwd ON conversation (cwd, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX conversation_title ON conversation (title, updated_at) WHERE deleted_at IS NULL;

-- Text and data come last: a walk reads the columns before them without turning the pages that a long text fills.
CREATE TABLE message (
    id               INTEGER PRIMARY KEY,
    uid              TEXT NOT NULL UNIQUE,
    conversation_id  TEXT NOT NULL REFERENCES conversation (id),
    parent_id        INTEGER REFERENCES message (id),
    turn_id          TEXT REFERENCES turn (id) DEFERRABLE INITIALLY DEFERRED,
    kind             TEXT NOT NULL CHECK (kind IN ('user', 'agent', 'thought', 'tool', 'plan', 'notice', 'seam')),
    state            TEXT NOT NULL CHECK (state IN ('open', 'final', 'interrupted', 'refused')),
    link_id          TEXT REFERENCES link (id) DEFERRABLE INITIALLY DEFERRED,
    agent_message_id TEXT,
    barrier          INTEGER NOT NULL DEFAULT 0,
    depth            INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    text             TEXT NOT NULL DEFAULT '',
    data             TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX message_parent ON message (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX message_first ON message (conversation_id) WHERE parent_id IS NULL;
CREATE INDEX message_conversation ON message (conversation_id, kind);
CREATE INDEX message_turn ON message (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX message_link ON message (link_id) WHERE link_id IS NOT NULL;
CREATE INDEX message_open ON message (conversation_id) WHERE state = 'open';

CREATE TABLE turn (
    id              TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversation (id),
    prompt_id       INTEGER NOT NULL REFERENCES message (id),
    link_id         TEXT NOT NULL REFERENCES link (id),
    base_link_id    TEXT REFERENCES link (id),
    window_id       TEXT,
    last_id         INTEGER NOT NULL REFERENCES message (id),
    how             TEXT NOT NULL
                    CHECK (how IN ('continued', 'resumed', 'forked', 'forked_at', 'caught_up', 'told', 'fresh')),
    cause           TEXT,
    told_from       INTEGER REFERENCES message (id),
    told_to         INTEGER REFERENCES message (id),
    told            INTEGER NOT NULL DEFAULT 0,
    told_total      INTEGER NOT NULL DEFAULT 0,
    tools_listed    INTEGER NOT NULL DEFAULT 0,
    left_out        INTEGER NOT NULL DEFAULT 0,
    whole_id        INTEGER REFERENCES message (id),
    stop_reason     TEXT,
    error           TEXT,
    usage           TEXT,
    cost            REAL,
    currency        TEXT,
    model           TEXT,
    mode            TEXT,
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER,
    prior_context   TEXT
) STRICT;
CREATE INDEX turn_conversation ON turn (conversation_id, started_at);
CREATE INDEX turn_prompt ON turn (prompt_id);
CREATE INDEX turn_link ON turn (link_id);
CREATE INDEX turn_base_link ON turn (base_link_id) WHERE base_link_id IS NOT NULL;
CREATE INDEX turn_open ON turn (conversation_id) WHERE stop_reason IS NULL;
CREATE INDEX turn_open_link ON turn (link_id) WHERE stop_reason IS NULL;

CREATE TABLE link (
    id              TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversation (id),
    agent           TEXT NOT NULL,
    profile         TEXT NOT NULL DEFAULT '',
    session_id      TEXT NOT NULL CHECK (trim(session_id) <> ''),
    cwd             TEXT NOT NULL,
    cause           TEXT NOT NULL,
    source_id       TEXT REFERENCES link (id),
    base            INTEGER REFERENCES message (id),
    knows           INTEGER REFERENCES message (id),
    reach           INTEGER REFERENCES message (id),
    whole           INTEGER REFERENCES message (id),
    state           TEXT NOT NULL CHECK (state IN ('open', 'parked', 'suspect', 'lost')),
    owner           TEXT,
    version         INTEGER NOT NULL DEFAULT 0,
    cost_total      REAL,
    ended           TEXT,
    created_at      INTEGER NOT NULL,
    sequence        INTEGER NOT NULL
) STRICT;
-- Two links on one session would each believe that they alone know what it heard.
CREATE UNIQUE INDEX link_session ON link (agent, profile, session_id) WHERE state <> 'lost';
CREATE INDEX link_conversation ON link (conversation_id, sequence);
CREATE INDEX link_source ON link (source_id) WHERE source_id IS NOT NULL;

CREATE TABLE link_event (
    id              INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversation (id),
    link_id         TEXT NOT NULL REFERENCES link (id),
    event           TEXT NOT NULL,
    detail          TEXT,
    at              INTEGER NOT NULL
) STRICT;
CREATE INDEX link_event_conversation ON link_event (conversation_id, id);
CREATE INDEX link_event_link ON link_event (link_id, id);
CREATE INDEX link_event_carried ON link_event (conversation_id, link_id) WHERE event = 'carried';
CREATE TRIGGER link_event_is_never_changed BEFORE UPDATE ON link_event
BEGIN SELECT RAISE(ABORT, 'link_event is append-only'); END;
-- A conversation that nothing was said in may go without a trace.
CREATE TRIGGER link_event_is_never_removed BEFORE DELETE ON link_event
WHEN EXISTS (SELECT 1 FROM message WHERE conversation_id = OLD.conversation_id)
BEGIN SELECT RAISE(ABORT, 'link_event is append-only'); END;

-- A lease that is given back keeps its row without an owner, so that its epoch never goes back.
CREATE TABLE lease (
    conversation_id TEXT PRIMARY KEY REFERENCES conversation (id),
    owner           TEXT,
    host            TEXT,
    pid             INTEGER,
    started         TEXT,
    epoch           INTEGER NOT NULL,
    heartbeat_at    INTEGER NOT NULL,
    agents          TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE INDEX lease_owner ON lease (owner) WHERE owner IS NOT NULL;

CREATE TABLE workspace (
    id               TEXT PRIMARY KEY,
    directory        TEXT NOT NULL UNIQUE,
    active_window_id TEXT,
    owner            TEXT,
    host             TEXT,
    pid              INTEGER,
    started          TEXT,
    heartbeat_at     INTEGER
) STRICT;

CREATE TABLE window (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT REFERENCES workspace (id),
    position        INTEGER NOT NULL,
    conversation_id TEXT NOT NULL REFERENCES conversation (id),
    leaf_id         INTEGER REFERENCES message (id),
    closed_at       INTEGER
) STRICT;
CREATE INDEX window_workspace ON window (workspace_id, position);
CREATE INDEX window_open ON window (workspace_id, position) WHERE closed_at IS NULL;
CREATE INDEX window_conversation ON window (conversation_id);

-- The draft and the scroll position belong to a leaf, so that each sibling comes back with its own. Leaf 0 is the root.
CREATE TABLE window_leaf (
    window_id TEXT NOT NULL REFERENCES window (id),
    leaf_id   INTEGER NOT NULL,
    draft     TEXT NOT NULL DEFAULT '',
    scroll    INTEGER,
    PRIMARY KEY (window_id, leaf_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_item (
    id         TEXT PRIMARY KEY,
    window_id  TEXT NOT NULL REFERENCES window (id),
    position   INTEGER NOT NULL,
    text       TEXT NOT NULL,
    held       INTEGER NOT NULL DEFAULT 0,
    data       TEXT NOT NULL DEFAULT '{}',
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX queue_item_window ON queue_item (window_id, position);

-- What was typed, over all conversations; kept apart from them, so that deleting one takes nothing away here.
CREATE TABLE input (
    id         INTEGER PRIMARY KEY,
    text       TEXT NOT NULL,
    cwd        TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE attachment (
    id         INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES message (id),
    position   INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    mime       TEXT NOT NULL,
    name       TEXT NOT NULL,
    bytes      BLOB NOT NULL
) STRICT;
CREATE INDEX attachment_message ON attachment (message_id, position);

CREATE TABLE checkpoint (
    id              TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversation (id),
    message_id      INTEGER REFERENCES message (id),
    link_id         TEXT REFERENCES link (id),
    label           TEXT,
    automatic       INTEGER NOT NULL,
    data            TEXT NOT NULL DEFAULT '{}',
    created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoint_conversation ON checkpoint (conversation_id, created_at);
CREATE INDEX checkpoint_link ON checkpoint (link_id) WHERE link_id IS NOT NULL;

CREATE TABLE journal (
    id              INTEGER PRIMARY KEY,
    workspace_id    TEXT,
    conversation_id TEXT,
    window_id       TEXT,
    act             TEXT NOT NULL,
    before          TEXT NOT NULL,
    after           TEXT NOT NULL,
    undone          INTEGER NOT NULL DEFAULT 0,
    at              INTEGER NOT NULL
) STRICT;

CREATE TABLE ability (
    agent_name    TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    name          TEXT NOT NULL,
    value         TEXT NOT NULL,
    learnt_at     INTEGER NOT NULL,
    PRIMARY KEY (agent_name, agent_version, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE permission_rule (
    id              TEXT PRIMARY KEY,
    directory       TEXT NOT NULL,
    conversation_id TEXT REFERENCES conversation (id),
    tool_kind       TEXT NOT NULL,
    pattern         TEXT NOT NULL,
    allow           INTEGER NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX permission_rule_conversation ON permission_rule (conversation_id) WHERE conversation_id IS NOT NULL;

-- Full-text search over what people and agents said and did. The view says once what belongs there; the index refers
-- to it and keeps no text of its own. A message enters once, when it closes. No triggers: one on a growing row costs
-- 23 times the CPU.
CREATE VIEW message_indexed (id, uid, text) AS
    SELECT id, uid, text FROM message
     WHERE state <> 'open' AND kind IN ('user', 'agent', 'thought', 'tool', 'notice') AND text <> '';
CREATE VIRTUAL TABLE message_fts USING fts5 (
    text, content = 'message_indexed', content_rowid = 'id', tokenize = 'unicode61', prefix = '2 3'
);
-- Merging is done in small steps while nobody waits; a write does it itself only if that was neglected for very long.
INSERT INTO message_fts (message_fts, rank) VALUES ('automerge', 0);
INSERT INTO message_fts (message_fts, rank) VALUES ('crisismerge', 64);
