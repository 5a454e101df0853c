"""The wire: JSON-RPC with an agent, its updates as events, our requests, and the files it may touch."""
