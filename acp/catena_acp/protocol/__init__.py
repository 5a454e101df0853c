"""JSON-RPC with an agent: framing, requests, session updates as events, permissions and file access."""
