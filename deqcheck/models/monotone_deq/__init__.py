"""Monotone deep equilibrium model (Hieu 2022)."""
