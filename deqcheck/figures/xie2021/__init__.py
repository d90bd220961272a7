"""Xie 2021: Tables 1-3, as trends."""
