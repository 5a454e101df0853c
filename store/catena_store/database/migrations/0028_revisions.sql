-- Whoever looks at all conversations asks for those with a later revision than the latest that was there: when the one that has the
-- latest is removed for good, another one takes it over, so that it never goes back.
CREATE TRIGGER conversation_is_gone AFTER DELETE ON conversation
WHEN OLD.revision >= (SELECT max(revision) FROM conversation)
BEGIN
    UPDATE conversation SET revision = OLD.revision + 1
     WHERE id = (SELECT id FROM conversation ORDER BY revision DESC LIMIT 1);
END;
