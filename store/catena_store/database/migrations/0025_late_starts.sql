-- The snapshot of a turn's start may have come when the turn was at work already: it is kept, and nothing is restored by it.
ALTER TABLE turn_files ADD COLUMN late INTEGER NOT NULL DEFAULT 0;
-- What its start lacks, beside what either end lacks: the rest was made by the turn, or beside it.
ALTER TABLE turn_files ADD COLUMN lacked TEXT;
