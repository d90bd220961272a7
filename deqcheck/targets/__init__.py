"""Targets of drawn data: one file for each kind. `targets(inputs, seed)` is outputs x n."""
