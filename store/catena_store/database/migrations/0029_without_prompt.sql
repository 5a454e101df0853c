-- The conversations without a prompt of their own, so that those without any message are known without looking for one of each
-- of all others.
CREATE INDEX conversation_unprompted ON conversation (cwd, id) WHERE last_prompt = '' AND deleted_at IS NULL;
