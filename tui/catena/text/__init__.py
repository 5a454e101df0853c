"""Values as text for a person: safe text, times, chains, checkpoints, logins, usage, trees; and records as JSON."""
