"""Live sessions, the agent processes behind them, and what is set in them."""
