-- What of a prior context was left out besides messages: tool calls of the part that the session did not know, told messages
-- that were shortened, and secrets that were masked in what was told of tool calls.
ALTER TABLE turn ADD COLUMN tools_left_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN shortened INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN masked INTEGER NOT NULL DEFAULT 0;
