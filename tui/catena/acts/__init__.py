"""Acts: each is one coroutine that talks to a surface; the table names them all."""
