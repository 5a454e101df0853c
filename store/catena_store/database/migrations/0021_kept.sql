-- What the session of a turn that did not end well was taken to keep of it, by what its agent version had shown before:
-- its prompt, or all of it.
ALTER TABLE turn ADD COLUMN kept TEXT CHECK (kept IN ('prompt', 'all'));
