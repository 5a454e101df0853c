"""Diagnosis of agent errors: rate limit, credit, overload, login, full context, or an unknown error."""
