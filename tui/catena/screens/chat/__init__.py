"""The chat screen: transcript, panels, composer, and the commands behind them."""
