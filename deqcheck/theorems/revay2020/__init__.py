"""Revay, Wang and Manchester 2020: Lipschitz bounded equilibrium networks."""
