"""Values as text for a person: safe text, times, chains, checkpoints, logins, usage; and records as JSON."""
