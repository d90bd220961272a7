"""Fung et al. 2022: Jacobian-free backpropagation."""
