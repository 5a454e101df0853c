"""Words about continuity: counts, the context of a prompt, leases, trouble, and how a turn ended."""
