-- When the end of a turn was kept: what Catena restored after the turn and before that is in it, too. NULL of earlier versions.
ALTER TABLE turn_files ADD COLUMN kept_at INTEGER;
