"""Xie et al., Optimization induced equilibrium networks."""
