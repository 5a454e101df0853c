-- What a subagent does is work of the tool call that started it, and the session never holds it: the call alone is counted.
-- A row of a subagent names that call in its data, which no earlier version wrote. `tool_id` leads to its calls all the same.
DROP TRIGGER message_insert;
DROP TRIGGER message_placed_insert;
DROP VIEW message_placed;

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
