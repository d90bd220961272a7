"""Pabbaraju, Winston and Kolter 2021: Lipschitz constants of monotone equilibrium networks."""
