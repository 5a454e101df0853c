-- What the list of all conversations knows of each, besides its messages. As with the surroundings, any of these tables can
-- be lost without harm to anything else.

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

INSERT INTO conversation_file (conversation_id, path, message_id)
SELECT conversation_id, path, max(message_id) FROM message_file WHERE path <> '' GROUP BY conversation_id, path;

CREATE INDEX conversation_pinned ON conversation (updated_at, id) WHERE pinned AND deleted_at IS NULL;
