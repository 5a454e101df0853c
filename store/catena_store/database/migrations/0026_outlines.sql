-- What a list of all conversations needs of each stands in its row: the beginnings of the first and the last prompt that were
-- born in it, and when it changed last, as a number that grows with every change of any of them.
ALTER TABLE conversation ADD COLUMN first_prompt TEXT NOT NULL DEFAULT '';
ALTER TABLE conversation ADD COLUMN last_prompt TEXT NOT NULL DEFAULT '';
ALTER TABLE conversation ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
CREATE INDEX conversation_revision ON conversation (revision);

UPDATE conversation SET
    first_prompt = coalesce((SELECT substr(text, 1, 200) FROM message
                              WHERE conversation_id = conversation.id AND kind = 'user' ORDER BY id LIMIT 1), ''),
    last_prompt = coalesce((SELECT substr(text, 1, 200) FROM message
                             WHERE conversation_id = conversation.id AND kind = 'user' ORDER BY id DESC LIMIT 1), '');

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
