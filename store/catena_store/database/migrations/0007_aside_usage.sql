-- The usage that the session of an aside, or the source of its fork, had reported before the question, as JSON: some agents
-- report that of the session so far.
ALTER TABLE aside_question ADD COLUMN usage_before TEXT;
