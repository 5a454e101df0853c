-- Where the files of a conversation's directory stand: a JSON array of the rows up to which turns have changed them, the
-- newest first; empty at the beginning of the conversation. NULL says that nothing told it yet: then it is the place. A
-- window's is NULL where it is as the conversation's.
ALTER TABLE conversation ADD COLUMN files_at TEXT;
ALTER TABLE window ADD COLUMN files_at TEXT;

-- Of a turn that was cut off and is not ended yet: its files were taken elsewhere already.
ALTER TABLE turn_files ADD COLUMN left_open INTEGER NOT NULL DEFAULT 0;

-- Of a change of files that is under way: where they stand when it is done (JSON).
ALTER TABLE file_restore ADD COLUMN stands TEXT;

-- Until now it was where the newest turn ended, or where a later act took the files, or undone, brought them back.
UPDATE conversation SET files_at = (
    SELECT json_array(t.last_id) FROM turn t
     WHERE t.conversation_id = conversation.id AND t.stop_reason IS NOT NULL AND t.stop_reason <> 'not_sent'
     ORDER BY t.rowid DESC LIMIT 1);

UPDATE conversation SET files_at = moved.files_at
  FROM (SELECT w.conversation_id AS id,
               CASE WHEN leaf IS NULL THEN '[]' ELSE (SELECT json_array(m.id) FROM message m WHERE m.uid = leaf) END
                   AS files_at,
               max(j.moved_at) AS moved_at
          FROM (SELECT window_id,
                       json_extract(CASE WHEN undone THEN before ELSE after END, '$.leaf_id') AS leaf,
                       max(coalesce(json_extract(before, '$.files.moved_at'), 0),
                           coalesce(json_extract(after, '$.files.moved_at'), 0)) AS moved_at
                  FROM journal WHERE json_extract(after, '$.files.tree') IS NOT NULL ORDER BY id) AS j
          JOIN window w ON w.id = j.window_id GROUP BY w.conversation_id) AS moved
 WHERE conversation.id = moved.id AND moved.files_at IS NOT NULL
   AND moved.moved_at > coalesce((SELECT t.started_at FROM turn t WHERE t.conversation_id = conversation.id
                                     AND t.stop_reason IS NOT 'not_sent' ORDER BY t.rowid DESC LIMIT 1), 0);
