-- A turn that was cut off has no snapshot of its end: a later one is taken for it, beside which stands the tree of what was
-- certainly there when its process was last alive.
ALTER TABLE turn_files ADD COLUMN alive_at INTEGER;
ALTER TABLE turn_files ADD COLUMN certain TEXT;
CREATE INDEX turn_files_open ON turn_files (root) WHERE after IS NULL;
