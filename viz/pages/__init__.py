"""Pages: widgets, the services they ask, the figures they show. No arithmetic."""
