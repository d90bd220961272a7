"""Convex functions R of the state that select among fixed points: one file for each kind."""
