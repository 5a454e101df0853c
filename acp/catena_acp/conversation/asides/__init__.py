"""Questions asked in disposable forks."""
