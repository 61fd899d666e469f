"""What people see: figures, components, pages, the services behind them, and every text."""
