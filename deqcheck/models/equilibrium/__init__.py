"""Trained equilibrium networks: z = s(W z + U x + b), y = C z + D x + c0."""
