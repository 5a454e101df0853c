-- What the tree is walked by without going from row to row. All of it is derived from the messages, whose parent, kind
-- and barrier never change, and is written with them; a damaged file loses nothing that cannot be derived again.

-- A row's way to the root. `jump_id` leads to an ancestor so far above that any other is found in a number of steps
-- that grows with the logarithm of the distance (a skew-binary jump pointer, E. W. Myers 1983). An ancestor has a smaller
-- id than its descendants. Counts are from the root on, and include the row.
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

-- What is put into this view enters both tables; parents come before their children.
CREATE VIEW message_placed (id, parent_id, conversation_id, kind, barrier) AS
    SELECT id, parent_id, conversation_id, kind, barrier FROM message;
CREATE TRIGGER message_placed_insert INSTEAD OF INSERT ON message_placed
BEGIN
    INSERT INTO ancestry (id, parent_id, jump_id, depth, barrier_id, spoken, tools, tool_id)
    SELECT NEW.id, p.id, CASE WHEN p.depth - j.depth = j.depth - k.depth THEN k.id ELSE p.id END,
           coalesce(p.depth + 1, 0),
           CASE WHEN NEW.barrier THEN NEW.id ELSE coalesce(p.barrier_id, 0) END,
           coalesce(p.spoken, 0) + (NEW.kind IN ('user', 'agent')),
           coalesce(p.tools, 0) + (NEW.kind = 'tool'),
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
    INSERT INTO message_placed (id, parent_id, conversation_id, kind, barrier)
    VALUES (NEW.id, NEW.parent_id, NEW.conversation_id, NEW.kind, NEW.barrier);
END;

INSERT INTO message_placed (id, parent_id, conversation_id, kind, barrier)
SELECT id, parent_id, conversation_id, kind, barrier FROM message ORDER BY id;

-- Refused prompts are few, and everything below one is left out where the end of a branch is looked for.
CREATE INDEX message_refused ON message (conversation_id) WHERE state = 'refused';
CREATE INDEX message_barrier ON message (conversation_id) WHERE barrier;
-- A link's turns in the order of their prompts, so that the newest one above a row is found at once.
DROP INDEX turn_link;
CREATE INDEX turn_link ON turn (link_id, prompt_id);
