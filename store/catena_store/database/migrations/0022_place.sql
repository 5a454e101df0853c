-- Where a conversation goes on: the row below which its next prompt hangs, whichever window or process was last. 0 is its
-- beginning; NULL says that nobody moved it yet: then it goes on at its newest row.
ALTER TABLE conversation ADD COLUMN place_id INTEGER;

-- Until now nothing told it. It is where the window stands that carried the newest turn, else where that turn ended; without
-- a turn that was said here, where the window stands that was used last.
UPDATE conversation SET place_id = coalesce(
    (SELECT coalesce(w.leaf_id, 0) FROM (
        SELECT t.window_id FROM turn t WHERE t.conversation_id = conversation.id AND t.stop_reason IS NOT 'not_sent'
         ORDER BY t.rowid DESC LIMIT 1) AS newest
      CROSS JOIN window w ON w.id = newest.window_id WHERE w.conversation_id = conversation.id),
    (SELECT t.last_id FROM turn t WHERE t.conversation_id = conversation.id AND t.stop_reason IS NOT 'not_sent'
        AND t.window_id IS NOT NULL ORDER BY t.rowid DESC LIMIT 1),
    (SELECT w.leaf_id FROM window w WHERE w.conversation_id = conversation.id AND w.leaf_id IS NOT NULL
      ORDER BY w.closed_at IS NOT NULL, w.closed_at DESC, w.rowid DESC LIMIT 1)
);

-- A person may have moved another window since.
UPDATE conversation SET place_id = moved.leaf_id
  FROM (SELECT w.conversation_id AS id, coalesce(w.leaf_id, 0) AS leaf_id, j.at, max(j.id)
          FROM journal j JOIN window w ON w.id = j.window_id
         WHERE json_type(j.after, '$.leaf_id') IS NOT NULL
           AND json_extract(j.after, '$.conversation_id') = w.conversation_id
         GROUP BY w.conversation_id) AS moved
 WHERE conversation.id = moved.id
   AND moved.at > coalesce((SELECT t.started_at FROM turn t WHERE t.conversation_id = conversation.id
                                AND t.stop_reason IS NOT 'not_sent' ORDER BY t.rowid DESC LIMIT 1), 0);
