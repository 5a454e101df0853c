-- Everything that Catena keeps, as a new file gets it. An older file comes to the same by `migrations/`, which begin with
-- what the first version kept. Times are integer milliseconds since 1970 in UTC. Ids are text, except the rowid of a message,
-- which the tree is walked by and the full-text index refers to; it never leaves the store.

-- `pruned_at`: when its removal for good began. Its rows go in steps; those that a fork's branch runs over stay, and the
-- conversation's own row with them, which nobody can open any more.
-- `place_id`: the row below which its next prompt hangs, whichever window or process was last. 0 is its beginning; NULL says that
-- nobody moved it yet: then it goes on at its newest row.
-- `first_prompt`, `last_prompt`: the beginnings of the first and the last prompt that were born in it.
-- `revision`: when it changed last, as a number that grows with every change of any conversation.
-- `files_at`: where the files of its directory stand: a JSON array of the rows up to which turns have changed them, the newest
-- first; empty at its beginning. NULL says that nothing told it yet: then it is the place.
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
    updated_at    INTEGER NOT NULL,
    pruned_at     INTEGER,
    place_id      INTEGER,
    first_prompt  TEXT NOT NULL DEFAULT '',
    last_prompt   TEXT NOT NULL DEFAULT '',
    revision      INTEGER NOT NULL DEFAULT 0,
    files_at      TEXT
) STRICT;
CREATE INDEX conversation_family ON conversation (family);
CREATE INDEX conversation_updated ON conversation (updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX conversation_cwd ON conversation (cwd, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX conversation_title ON conversation (title, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX conversation_pinned ON conversation (updated_at, id) WHERE pinned AND deleted_at IS NULL;
CREATE INDEX conversation_pruned ON conversation (pruned_at) WHERE pruned_at IS NOT NULL;
CREATE INDEX conversation_revision ON conversation (revision);
-- Of those without a prompt of their own a list has to look for a message; whatever was prompted has one.
CREATE INDEX conversation_unprompted ON conversation (cwd, id) WHERE last_prompt = '' AND deleted_at IS NULL;

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
-- Refused prompts are few, and everything below one is left out where the end of a branch is looked for.
CREATE INDEX message_refused ON message (conversation_id) WHERE state = 'refused';
CREATE INDEX message_barrier ON message (conversation_id) WHERE barrier;

-- `told_from` to `masked`: the prior context before its prompt, and what of it was left out besides messages: tool calls of the
-- part that the session did not know, messages that were shortened, secrets in what was told of tool calls.
-- `kept`: what the session of a turn that did not end well was taken to keep of it, by what its agent version had shown before.
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
    prior_context   TEXT,
    kept            TEXT CHECK (kept IN ('prompt', 'all')),
    tools_left_out  INTEGER NOT NULL DEFAULT 0,
    shortened       INTEGER NOT NULL DEFAULT 0,
    masked          INTEGER NOT NULL DEFAULT 0,
    waited          INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX turn_conversation ON turn (conversation_id, started_at);
CREATE INDEX turn_prompt ON turn (prompt_id);
CREATE INDEX turn_base_link ON turn (base_link_id) WHERE base_link_id IS NOT NULL;
CREATE INDEX turn_open ON turn (conversation_id) WHERE stop_reason IS NULL;
CREATE INDEX turn_open_link ON turn (link_id) WHERE stop_reason IS NULL;
CREATE INDEX turn_link ON turn (link_id, prompt_id);
-- By when they were at work; those that are under way come first.
CREATE INDEX turn_time ON turn (ended_at, started_at);

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
-- A session of another tool is looked for among our links by its id alone: under which agent's name we know it, nobody tells.
CREATE INDEX link_session_id ON link (session_id);

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

-- `pane`: its place among the tabs that stand side by side, from the left; NULL for one that does not.
-- `files_at`: where the files stand for it; NULL where it is as the conversation's.
CREATE TABLE window (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT REFERENCES workspace (id),
    position        INTEGER NOT NULL,
    conversation_id TEXT NOT NULL REFERENCES conversation (id),
    leaf_id         INTEGER REFERENCES message (id),
    closed_at       INTEGER,
    pane            INTEGER,
    files_at        TEXT
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

-- `path` says where a file came from, for an agent that reads it by itself.
CREATE TABLE attachment (
    id         INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES message (id),
    position   INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    mime       TEXT NOT NULL,
    name       TEXT NOT NULL,
    bytes      BLOB NOT NULL,
    path       TEXT
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
CREATE UNIQUE INDEX checkpoint_label ON checkpoint (conversation_id, label) WHERE label IS NOT NULL;

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

-- What surrounded a turn. Options and directories are JSON. The git columns are null where the directory is in no repository.
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

-- Files and images of prompts that are not in the tree yet: those that wait in the queue, and drafts. They go where their text
-- goes.
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

-- By leaf, as drafts are. Leaf 0 is the root.
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

-- How often checkpoints are made in a conversation, where the person set that for it, and what an agent asked for through
-- the tools that it was handed.
CREATE TABLE checkpointing (
    conversation_id TEXT PRIMARY KEY REFERENCES conversation (id) ON DELETE CASCADE,
    frequency       TEXT NOT NULL CHECK (frequency IN ('turn', 'tool', 'manual', 'off'))
) STRICT, WITHOUT ROWID;

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

-- MCP servers that a conversation hands to its sessions, each as the protocol has it, in JSON.
CREATE TABLE conversation_mcp_server (
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    position        INTEGER NOT NULL,
    server          TEXT NOT NULL,
    PRIMARY KEY (conversation_id, position)
) STRICT, WITHOUT ROWID;

-- What the questions of asides cost: nothing of what was said in them, which is kept nowhere. The usage is JSON, and so is what
-- the session of the aside, or the source of its fork, had reported before: some agents report the usage of the session so far.
CREATE TABLE aside_question (
    id              INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    agent           TEXT NOT NULL,
    profile         TEXT NOT NULL,
    model           TEXT,
    usage           TEXT,
    cost            REAL,
    currency        TEXT,
    asked_at        INTEGER NOT NULL,
    usage_before    TEXT
) STRICT;
CREATE INDEX aside_question_conversation ON aside_question (conversation_id);

-- What the tree is walked by without going from row to row. It is derived from the messages, whose parent, kind and barrier never
-- change, and is written with them; a damaged file loses nothing that cannot be derived again.
-- A row's way to the root. `jump_id` leads to an ancestor so far above that any other is found in a number of steps
-- that grows with the logarithm of the distance (a skew-binary jump pointer, E. W. Myers 1983). An ancestor has a smaller
-- id than its descendants. Counts are from the root on, and include the row. What a
-- subagent does is work of the tool call that started it: the call alone is counted, and `tool_id` leads to its calls all
-- the same.
CREATE TABLE ancestry (
    id         INTEGER PRIMARY KEY REFERENCES message (id) ON DELETE CASCADE,
    parent_id  INTEGER,
    jump_id    INTEGER,
    depth      INTEGER NOT NULL,
    barrier_id INTEGER NOT NULL,
    spoken     INTEGER NOT NULL,
    tools      INTEGER NOT NULL,
    tool_id    INTEGER
) STRICT;

-- The rows of a conversation that no other row of that conversation hangs from: where its branches end.
CREATE TABLE branch_end (
    conversation_id TEXT NOT NULL,
    message_id      INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    PRIMARY KEY (conversation_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX branch_end_message ON branch_end (message_id);

-- How far a person has seen a conversation on a screen, and when they last came to it or left it. Without a row nobody
-- opened it there, and nothing in it counts as unread: what `catena run` printed was read.
CREATE TABLE conversation_seen (
    conversation_id TEXT PRIMARY KEY REFERENCES conversation (id) ON DELETE CASCADE,
    message_id      INTEGER NOT NULL,
    at              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Turns whose agent waits for a permission. A row means something only while its turn is open and the lease of the
-- conversation is a living client's, so that no crash can leave it wrong.
CREATE TABLE turn_asking (
    turn_id  TEXT PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE,
    asked_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The files that the tool calls of a conversation read or changed, as the agent named them, with the newest such call.
CREATE TABLE conversation_file (
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    path            TEXT NOT NULL,
    message_id      INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, path)
) STRICT, WITHOUT ROWID;

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

-- What a person answered about a file of a project that names programs to be started: once for each content. An answer that is
-- lost is asked for again.
CREATE TABLE trusted_file (
    path        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    trusted     INTEGER NOT NULL,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (path, digest)
) STRICT, WITHOUT ROWID;

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

-- The files of a directory around a turn: git trees in a repository of ours, which lies beside this file.
-- `certain`: of a turn that was cut off and has no snapshot of its end, for which a later one is taken: the tree of what was
-- certainly there at `alive_at`, when its process was last alive. `late`: the snapshot of its start came when it was at work
-- already: it is kept, and nothing is restored by it. `lacked`: what its start lacks, beside what either end lacks.
-- `left_open`: of a turn that was cut off and is not ended yet: its files were taken elsewhere already.
CREATE TABLE turn_files (
    turn_id   TEXT PRIMARY KEY REFERENCES turn (id) ON DELETE CASCADE,
    root      TEXT NOT NULL,
    before    TEXT NOT NULL,
    after     TEXT,
    left_out  TEXT NOT NULL DEFAULT '[]',
    alive_at  INTEGER,
    certain   TEXT,
    late      INTEGER NOT NULL DEFAULT 0,
    lacked    TEXT,
    left_open INTEGER NOT NULL DEFAULT 0,
    kept_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_files_root ON turn_files (root);
CREATE INDEX turn_files_open ON turn_files (root) WHERE after IS NULL;

-- A change of files that was begun and is not done: with its steps it is finished or undone after a crash.
-- It goes along with a window that moves: which process is at it (NULL: an earlier version's), the files before and after it as
-- trees, where the window goes once they are there, and where they stand then (JSON).
CREATE TABLE file_restore (
    id              TEXT PRIMARY KEY,
    root            TEXT NOT NULL,
    conversation_id TEXT REFERENCES conversation (id) ON DELETE CASCADE,
    steps           TEXT NOT NULL,
    begun_at        INTEGER NOT NULL,
    owner           TEXT,
    before          TEXT,
    after           TEXT,
    move            TEXT,
    stands          TEXT
) STRICT, WITHOUT ROWID;

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

CREATE TRIGGER link_event_is_never_changed BEFORE UPDATE ON link_event
BEGIN SELECT RAISE(ABORT, 'link_event is append-only'); END;

-- A conversation that nothing was said in may go without a trace.
CREATE TRIGGER link_event_is_never_removed BEFORE DELETE ON link_event
WHEN EXISTS (SELECT 1 FROM message WHERE conversation_id = OLD.conversation_id)
BEGIN SELECT RAISE(ABORT, 'link_event is append-only'); END;

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

-- The files that the closed tool calls name. Data that is no JSON, or whose lists are none, names none.
CREATE VIEW message_file (message_id, conversation_id, path) AS
    SELECT m.id, m.conversation_id, json_extract(each.value, '$.path')
      FROM message m CROSS JOIN json_each(CASE WHEN json_valid(m.data) THEN m.data ELSE '{}' END, '$.locations') each
     WHERE m.kind = 'tool' AND m.state <> 'open' AND each.type = 'object'
       AND json_extract(m.data, '$.status') IN ('completed', 'unknown')
       AND json_type(each.value, '$.path') = 'text'
    UNION ALL
    SELECT m.id, m.conversation_id, json_extract(each.value, '$.path')
      FROM message m CROSS JOIN json_each(CASE WHEN json_valid(m.data) THEN m.data ELSE '{}' END, '$.content') each
     WHERE m.kind = 'tool' AND m.state <> 'open' AND each.type = 'object'
       AND json_extract(m.data, '$.status') IN ('completed', 'unknown')
       AND json_type(each.value, '$.path') = 'text';

-- What is put into this view enters `ancestry` and `branch_end`; parents come before their children.
CREATE VIEW message_placed (id, parent_id, conversation_id, kind, barrier, counts) AS
    SELECT id, parent_id, conversation_id, kind, barrier,
           CASE WHEN json_valid(data) THEN json_extract(data, '$.subagent_of') IS NULL ELSE 1 END
      FROM message;

CREATE TRIGGER message_placed_insert INSTEAD OF INSERT ON message_placed
BEGIN
    INSERT INTO ancestry (id, parent_id, jump_id, depth, barrier_id, spoken, tools, tool_id)
    SELECT NEW.id, p.id, CASE WHEN p.depth - j.depth = j.depth - k.depth THEN k.id ELSE p.id END,
           coalesce(p.depth + 1, 0),
           CASE WHEN NEW.barrier THEN NEW.id ELSE coalesce(p.barrier_id, 0) END,
           coalesce(p.spoken, 0) + (NEW.counts AND NEW.kind IN ('user', 'agent')),
           coalesce(p.tools, 0) + (NEW.counts AND NEW.kind = 'tool'),
           CASE NEW.kind WHEN 'tool' THEN NEW.id ELSE p.tool_id END
      FROM (SELECT 1)
      LEFT JOIN ancestry p ON p.id = NEW.parent_id
      LEFT JOIN ancestry j ON j.id = coalesce(p.jump_id, p.id)
      LEFT JOIN ancestry k ON k.id = coalesce(j.jump_id, j.id);
    DELETE FROM branch_end WHERE conversation_id = NEW.conversation_id AND message_id = NEW.parent_id;
    INSERT INTO branch_end (conversation_id, message_id) VALUES (NEW.conversation_id, NEW.id);
END;

CREATE TRIGGER message_insert AFTER INSERT ON message
BEGIN
    INSERT INTO message_placed (id, parent_id, conversation_id, kind, barrier, counts)
    SELECT id, parent_id, conversation_id, kind, barrier, counts FROM message_placed WHERE id = NEW.id;
END;

CREATE TRIGGER conversation_is_prompted AFTER INSERT ON message WHEN NEW.kind = 'user'
BEGIN
    UPDATE conversation SET
        first_prompt = CASE WHEN EXISTS (SELECT 1 FROM message WHERE conversation_id = NEW.conversation_id
                                            AND kind = 'user' AND id < NEW.id)
                            THEN first_prompt ELSE substr(NEW.text, 1, 200) END,
        last_prompt = substr(NEW.text, 1, 200)
     WHERE id = NEW.conversation_id;
END;

CREATE TRIGGER conversation_prompt_is_changed AFTER UPDATE OF text ON message WHEN NEW.kind = 'user'
BEGIN
    UPDATE conversation SET
        first_prompt = (SELECT substr(text, 1, 200) FROM message
                         WHERE conversation_id = NEW.conversation_id AND kind = 'user' ORDER BY id LIMIT 1),
        last_prompt = (SELECT substr(text, 1, 200) FROM message
                        WHERE conversation_id = NEW.conversation_id AND kind = 'user' ORDER BY id DESC LIMIT 1)
     WHERE id = NEW.conversation_id;
END;

CREATE TRIGGER conversation_is_new AFTER INSERT ON conversation
BEGIN
    UPDATE conversation SET revision = 1 + (SELECT max(revision) FROM conversation) WHERE id = NEW.id;
END;

CREATE TRIGGER conversation_is_changed
AFTER UPDATE OF title, agent, profile, cwd, pinned, archived, deleted_at, updated_at, last_prompt ON conversation
BEGIN
    UPDATE conversation SET revision = 1 + (SELECT max(revision) FROM conversation) WHERE id = NEW.id;
END;

-- Whoever looks at all conversations asks for those with a later revision than the latest that was there: when the one that
-- has the latest is removed for good, another one takes it over, so that it never goes back.
CREATE TRIGGER conversation_is_gone AFTER DELETE ON conversation
WHEN OLD.revision >= (SELECT max(revision) FROM conversation)
BEGIN
    UPDATE conversation SET revision = OLD.revision + 1
     WHERE id = (SELECT id FROM conversation ORDER BY revision DESC LIMIT 1);
END;
