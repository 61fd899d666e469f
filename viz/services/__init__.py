"""Cached calls into the core, and the door from tensor to NumPy."""
