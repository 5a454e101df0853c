"""Edit, retry, siblings and forks, and the barrier of a logout."""
