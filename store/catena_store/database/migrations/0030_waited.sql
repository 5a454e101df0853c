-- The milliseconds for which a turn waited for the person, who had been asked for a permission or for words: no work of the agent.
ALTER TABLE turn ADD COLUMN waited INTEGER NOT NULL DEFAULT 0;
