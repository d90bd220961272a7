"""Entries into theorems, compared with a scan of every state."""
