-- A change of files goes along with a window that moves: which process is at it, the files before and after it as trees, and
-- where the window goes once they are there. What was begun by an earlier version is nobody's.
ALTER TABLE file_restore ADD COLUMN owner TEXT;
ALTER TABLE file_restore ADD COLUMN before TEXT;
ALTER TABLE file_restore ADD COLUMN after TEXT;
ALTER TABLE file_restore ADD COLUMN move TEXT;
