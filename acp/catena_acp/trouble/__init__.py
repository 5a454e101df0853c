"""What an agent's failure means: rate limit, credit, overload, login, full context or a plain error."""
