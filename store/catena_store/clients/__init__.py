"""Several client processes on one file: their leases, and the progress of another one's conversation."""
