-- What a conversation was given beside its messages, and what it cost beside its turns. As with the surroundings, either
-- table can be lost without harm to anything else.

-- MCP servers that a conversation hands to its sessions, each as the protocol has it, in JSON.
CREATE TABLE conversation_mcp_server (
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    position        INTEGER NOT NULL,
    server          TEXT NOT NULL,
    PRIMARY KEY (conversation_id, position)
) STRICT, WITHOUT ROWID;

-- What the questions of asides cost: nothing of what was said in them, which is kept nowhere. The usage is JSON.
CREATE TABLE aside_question (
    id              INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    agent           TEXT NOT NULL,
    profile         TEXT NOT NULL,
    model           TEXT,
    usage           TEXT,
    cost            REAL,
    currency        TEXT,
    asked_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX aside_question_conversation ON aside_question (conversation_id);
