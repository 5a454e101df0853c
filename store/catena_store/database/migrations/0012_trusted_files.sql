-- What a person answered about a file of a project that names programs to be started: once for each content. An answer that is
-- lost is asked for again.
CREATE TABLE trusted_file (
    path        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    trusted     INTEGER NOT NULL,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (path, digest)
) STRICT, WITHOUT ROWID;
